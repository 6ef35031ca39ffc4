import { execFile } from "node:child_process";
import { chmod, mkdir, readFile, readdir, stat, truncate, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const SOURCE = fileURLToPath(new URL("fsync-log.c", import.meta.url));
const COMPILERS = ["cc", "gcc", "clang", "tcc"];

/** A Redis that tells which of its bytes are on the disk. */
export interface ShimmedRedis {
  /** A program to start instead of `redis-server`. */
  readonly program: string;
  /** What was on the disk of each file, newest last. */
  fsyncs(): Promise<readonly Fsync[]>;
  /**
   * Leaves of the server's folder what a loss of power would have left: each file is cut to its size when its last
   * successful fsync began. The server must not run. Gives the number of bytes taken.
   */
  cutPower(dataDir: string): Promise<number>;
}

/** One fsync that succeeded. Times are in milliseconds since the epoch. */
export interface Fsync {
  readonly inode: string;
  readonly size: number;
  readonly beganMs: number;
  readonly endedMs: number;
  readonly path: string;
}

/** Compiles the shim into `dir`, and puts a program beside it that runs `redisServer` under it. */
export async function shimRedis(redisServer: string, dir: string): Promise<ShimmedRedis> {
  await mkdir(dir, { recursive: true });
  const shim = join(dir, "fsync-log.so");
  const log = join(dir, "fsync.log");
  const program = join(dir, "redis-server");
  await compile(shim, dir);
  await writeFile(log, "");
  await writeFile(program, `#!/bin/sh\nLD_PRELOAD='${shim}' FSYNC_LOG='${log}' exec '${redisServer}' "$@"\n`);
  await chmod(program, 0o755);

  const fsyncs = async (): Promise<readonly Fsync[]> =>
    (await readFile(log, "utf8"))
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => {
        const [inode = "", size, beganMs, endedMs, ...path] = line.split(" ");
        return {
          inode,
          size: Number(size),
          beganMs: Number(beganMs),
          endedMs: Number(endedMs),
          path: path.join(" "),
        };
      });

  return {
    program,
    fsyncs,
    async cutPower(dataDir) {
      const told = await fsyncs();
      let taken = 0;
      const files = await readdir(dataDir, { recursive: true, withFileTypes: true });
      for (const file of files.filter((entry) => entry.isFile() && entry.name.includes("aof"))) {
        const path = join(file.parentPath, file.name);
        const { ino, size } = await stat(path);
        // Redis makes a file under a name that begins with temp-, and renames it. Another file may get a dead one's inode.
        const last = told.findLast(
          (fsync) =>
            fsync.inode === String(ino) &&
            (basename(fsync.path) === file.name || basename(fsync.path).startsWith("temp-")),
        );
        const onDisk = Math.min(last?.size ?? 0, size);
        taken += size - onDisk;
        await truncate(path, onDisk);
      }
      return taken;
    },
  };
}

async function compile(shim: string, dir: string): Promise<void> {
  const args = ["-shared", "-fPIC", "-nostdlib", "-o", shim, SOURCE];
  for (const compiler of COMPILERS) {
    const compiled = await run(compiler, args).catch(() => undefined);
    if (compiled) return;
  }
  // Debian's smallest compiler is 0.3 MB and runs where it is unpacked: nothing is installed.
  const get = (): Promise<unknown> => run("apt-get", ["download", "tcc"], { cwd: dir });
  await get().catch(async () => {
    await run("apt-get", ["update", "-qq"]);
    await get();
  });
  const archive = (await readdir(dir)).find((name) => /^tcc_.*\.deb$/.test(name)) ?? "tcc.deb";
  await run("dpkg", ["-x", archive, "tcc"], { cwd: dir });
  const home = (await readdir(join(dir, "tcc/usr/lib"), { recursive: true })).find((name) =>
    name.endsWith("/tcc"),
  );
  await run(join(dir, "tcc/usr/bin/tcc"), [`-B${join(dir, "tcc/usr/lib", home ?? "tcc")}`, ...args]);
}
