/*
 * Preloaded into redis-server: tells of each file how much of it was on the disk, one line for each fsync that succeeded:
 *
 *     <inode> <size when the fsync began> <began> <ended> <path>       times in milliseconds since the epoch
 *
 * The size is taken before the call, as what is written during it may or may not be part of it. System calls are made
 * by number, so that any C compiler will do, also where there are no headers of the C library.
 */
#if defined(__x86_64__)
enum { WRITE = 1, FSTAT = 5, FSYNC = 74, FDATASYNC = 75, CLOCK_GETTIME = 228, OPENAT = 257, READLINKAT = 267 };
#elif defined(__aarch64__)
enum { WRITE = 64, FSTAT = 80, FSYNC = 82, FDATASYNC = 83, CLOCK_GETTIME = 113, OPENAT = 56, READLINKAT = 78 };
#else
#error "The numbers of the system calls are known for x86_64 and aarch64 alone"
#endif
enum { AT_FDCWD = -100, OPEN_LOG = 02001, CLOCK_REALTIME = 0, INODE = 1, SIZE = 6 };

extern long syscall(long number, ...);
extern char *getenv(const char *name);

static char *text(char *at, const char *from) {
  while (*from) *at++ = *from++;
  return at;
}

static char *number(char *at, unsigned long value) {
  char digits[24];
  int count = 0;
  do digits[count++] = '0' + value % 10;
  while (value /= 10);
  while (count) *at++ = digits[--count];
  return at;
}

static unsigned long now_ms(void) {
  long time[2] = {0, 0};
  syscall(CLOCK_GETTIME, CLOCK_REALTIME, time);
  return time[0] * 1000 + time[1] / 1000000;
}

static int log_fd = -2;

/* `call` is FSYNC or FDATASYNC. A log that cannot be written makes no fsync fail: the test misses its lines. */
static int logged(long call, int fd) {
  unsigned long stat[32];
  unsigned long began = now_ms();
  long known = syscall(FSTAT, fd, stat);
  long result = syscall(call, fd);
  char line[1024], link[32], *at = line;
  if (result != 0 || known != 0) return result;
  if (log_fd == -2) log_fd = getenv("FSYNC_LOG") ? syscall(OPENAT, AT_FDCWD, getenv("FSYNC_LOG"), OPEN_LOG, 0) : -1;
  if (log_fd < 0) return 0;
  *text(number(text(link, "/proc/self/fd/"), fd), "") = 0;
  at = number(at, stat[INODE]);
  *at++ = ' ';
  at = number(at, stat[SIZE]);
  *at++ = ' ';
  at = number(at, began);
  *at++ = ' ';
  at = number(at, now_ms());
  *at++ = ' ';
  known = syscall(READLINKAT, AT_FDCWD, link, at, 512);
  if (known > 0) at += known;
  *at++ = '\n';
  syscall(WRITE, log_fd, line, at - line);
  return 0;
}

int fsync(int fd) { return logged(FSYNC, fd); }
int fdatasync(int fd) { return logged(FDATASYNC, fd); }
