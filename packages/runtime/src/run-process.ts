import type { Log } from "./log.ts";
import { onStopSignals } from "./stop-signals.ts";

/** What can be started and stopped. `stop` is idempotent, bounded, and may come before or during `start`. */
export interface Service {
  start(): Promise<unknown>;
  stop(): Promise<void>;
}

/** What a process runs. */
export interface RunProcessOptions {
  /** Begins the line that tells of a failed start. */
  readonly name: string;
  readonly log: Log;
  /** Started in this order, stopped in the reverse one. */
  readonly services: readonly Service[];
  /** How long services may take to drain; 2 s after that the process exits all the same. */
  readonly drainMs: number;
  /** How long the services go on unchanged after the first signal, for load balancers to turn away. Default 0. */
  readonly delayMs?: number;
  /** Told of the first signal at once: from here on the process should say that it is not ready. */
  readonly onSignal?: () => void;
}

const MARGIN_MS = 2000;

/**
 * Runs `main`, and turns what it throws into one line on standard error and exit code 1: a bad configuration, a missing
 * module of tools, a Redis that cannot be reached.
 */
export async function runMain(name: string, main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    process.stderr.write(`${name}: ${oneLine(error)}\n`);
    process.exit(1);
  }
}

/**
 * Runs services until SIGTERM or SIGINT; then stops them and exits with 0, or with 1 when the stop took too long.
 * The same signal again exits at once. Resolves when all have started; a failed start stops those that had, and exits with 1.
 *
 *     start a, b, c ──► running ──signal──► (delay) ──► stop c, b, a ──► exit
 *
 * A rejection that nobody handles (a promise that a tool forgot) is logged and harms nothing else. An exception that
 * nobody caught ends the process at once without giving leases back, so that it counts as a crash of what was running.
 */
export async function runProcess(options: RunProcessOptions): Promise<void> {
  const { name, log, services, drainMs, delayMs = 0 } = options;
  const started: Service[] = [];
  let stopping = false;

  const stopAll = async (): Promise<boolean> => {
    const deadline = timeout(drainMs + MARGIN_MS);
    const done = stopInReverse(started, log).then(() => true);
    const inTime = await Promise.race([done, deadline.promise.then(() => false)]);
    deadline.cancel();
    return inTime;
  };

  const stopAndExit = async (): Promise<void> => {
    options.onSignal?.();
    await timeout(delayMs).promise;
    const inTime = await stopAll();
    if (inTime) log.info({}, "Stopped");
    else log.error({ drainMs }, "The stop took too long: exiting all the same");
    process.exit(inTime ? 0 : 1);
  };

  onStopSignals({
    onFirst(signal) {
      if (stopping) return;
      stopping = true;
      log.info({ signal }, "Stopping");
      void stopAndExit();
    },
    onAgain(signal) {
      log.warn({ signal }, "The same signal again: exiting at once");
      process.exit(1);
    },
  });
  process.on("unhandledRejection", (error) =>
    log.error({ err: error }, "A promise was rejected and nobody handled it"),
  );
  process.on("uncaughtException", (error) => {
    log.fatal({ err: error }, "An exception that nobody caught");
    process.exit(1);
  });

  for (const service of services) {
    if (stopping) return;
    started.push(service);
    try {
      await service.start();
    } catch (error) {
      if (stopping) return;
      stopping = true;
      process.stderr.write(`${name}: ${oneLine(error)}\n`);
      log.debug({ err: error }, "The start failed");
      await stopAll();
      process.exit(1);
    }
  }
  if (!stopping) log.info({}, "Started");
}

async function stopInReverse(services: readonly Service[], log: Log): Promise<void> {
  for (const service of services.toReversed()) {
    try {
      await service.stop();
    } catch (error) {
      log.error({ err: error }, "A stop failed");
    }
  }
}

function timeout(ms: number): { readonly promise: Promise<void>; cancel(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  return { promise, cancel: () => clearTimeout(timer) };
}

function oneLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replaceAll(/\s*\n\s*/g, " ");
}
