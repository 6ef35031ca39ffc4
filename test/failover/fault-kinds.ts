/** Everything that is done to a cluster, by the names that `--only` takes. */
export const FAULT_KINDS = [
  "kill-replica",
  "kill-worker",
  "kill-redis",
  "freeze-worker",
  "kill-subscribers",
  "pause-redis",
  "lose-replies",
  "flush-scripts",
  "partition-replica",
  "partition-worker",
  "cut-connections",
  "delay-network",
  "wipe-queue",
  "drop-adds",
  "double-adds",
  "drop-hints",
  "rolling-restart",
] as const;

/** One of {@link FAULT_KINDS}. */
export type FaultKind = (typeof FAULT_KINDS)[number];

/** What each is, for the table of a report. */
export const ABOUT_FAULT: Readonly<Record<FaultKind, string>> = {
  "kill-replica": "SIGKILL of a replica, and another in its place",
  "kill-worker": "SIGKILL of a worker, and another in its place",
  "kill-redis": "SIGKILL of Redis, started again on its AOF",
  "freeze-worker": "SIGSTOP of a worker past its lease, then SIGCONT",
  "kill-subscribers": "CLIENT KILL TYPE pubsub",
  "pause-redis": "SIGSTOP of Redis, or CLIENT PAUSE, for a while",
  "lose-replies": "writes are done, their replies lost, the connections broken",
  "flush-scripts": "SCRIPT FLUSH",
  "partition-replica": "nothing passes between a replica and Redis",
  "partition-worker": "nothing passes between a worker and Redis past its lease; then it comes late",
  "cut-connections": "every connection of a role to Redis broken",
  "delay-network": "50 to 300 ms more each way between a role and Redis",
  "wipe-queue": "all keys of BullMQ deleted",
  "drop-adds": "10 to 50 % of the wake-up jobs never added",
  "double-adds": "10 to 50 % of the wake-up jobs added twice",
  "drop-hints": "every pub/sub message dropped",
  "rolling-restart": "a worker and a replica replaced by the previous build, and back",
};
