import { fork } from "node:child_process";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { z } from "zod";

/*
 * Anchors and clients of the benches are programs of their own, so that each one's CPU is its own. They are asked over IPC.
 */

/** What a program can be asked, by name. */
export type Answers = Readonly<Record<string, (data: never) => unknown>>;

interface Question {
  readonly id: number;
  readonly name: string;
  readonly data: unknown;
}

interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

const question = z.custom<Question>();
const reply = z.custom<Answer>();
/** Which program takes what is between a bench and its program: nothing to check here. */
const never = z.custom<never>();

/** In a program: answers what the bench asks, and `cpu` besides. `stop` runs before the program ends. */
export function serve(answers: Answers, stop: () => unknown = () => {}): void {
  const known: Answers = {
    ...answers,
    cpu: () => cpuMicroseconds(),
    memory: () => process.memoryUsage().rss,
  };
  process.on("message", (message) => {
    const { id, name, data } = question.parse(message);
    void (async () => {
      try {
        process.send?.({ id, value: await known[name]?.(never.parse(data)) });
      } catch (error) {
        process.send?.({
          id,
          error: error instanceof Error ? (error.stack ?? error.message) : String(error),
        });
      }
    })();
  });
  process.on("disconnect", () => {
    void Promise.resolve(stop()).finally(() => process.exit(0));
  });
  process.send?.({ id: 0 });
}

function cpuMicroseconds(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** The port that a server of this machine has taken. */
export function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === "string") throw new Error("The server does not listen");
  return address.port;
}

/** A running program. */
export interface Program {
  readonly pid: number;
  ask<Value>(name: string, data?: unknown): Promise<Value>;
  /** Microseconds of CPU since it began. */
  readonly cpu: () => Promise<number>;
  /** Ends it; idempotent. */
  stop(): Promise<void>;
  /** Ends it without a word. */
  kill(): void;
}

/** Starts `test/bench/<path>` with a condition on its sources, and resolves once it serves. */
export async function startProgram(path: string, args: readonly string[] = []): Promise<Program> {
  const file = fileURLToPath(new URL(`../${path}`, import.meta.url));
  const child = fork(file, [...args], {
    execArgv: ["--conditions=perdure-source"],
    serialization: "advanced",
  });
  const waiting = new Map<number, (answer: Answer) => void>();
  const exited = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
  });
  const ready = Promise.withResolvers<void>();
  let lastId = 0;
  child.on("message", (message) => {
    const answer = reply.parse(message);
    if (answer.id === 0) ready.resolve();
    waiting.get(answer.id)?.(answer);
    waiting.delete(answer.id);
  });
  const gone = exited.then((): void => {
    ready.reject(new Error(`${path} ended before it was ready`));
    for (const [id, tell] of waiting) tell({ id, error: `${path} has ended` });
    return undefined;
  });
  await ready.promise;

  const program: Program = {
    pid: child.pid ?? -1,
    ask: <Value>(name: string, data?: unknown) =>
      new Promise<Value>((resolve, reject) => {
        lastId += 1;
        waiting.set(lastId, ({ value, error }) => {
          if (error === undefined) resolve(z.custom<Value>().parse(value));
          else reject(new Error(error));
        });
        child.send({ id: lastId, name, data } satisfies Question);
      }),
    cpu: () => program.ask<number>("cpu"),
    async stop() {
      if (child.connected) child.disconnect();
      const timer = setTimeout(() => child.kill("SIGKILL"), 5000);
      await gone;
      clearTimeout(timer);
    },
    kill: () => void child.kill("SIGKILL"),
  };
  return program;
}
