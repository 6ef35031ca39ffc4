import { z } from "zod";
import type { JsonObject } from "./json.ts";
import type { InputRequest, RunHost, RunOutcome } from "./run-host.ts";
import type { Caller } from "./task-context.ts";
import type { Tool } from "./tool.ts";

/** A request of a tool to the client. */
export interface AskedRequest {
  readonly method: string;
  readonly params: JsonObject;
}

/**
 * What the client answers under a key: an `ElicitResult` (`{ action: "accept", content: { … } }`), a `CreateMessageResult`,
 * or a `ListRootsResult`; or a function that makes one. `undefined` is no answer.
 */
export type InMemoryAnswer =
  | JsonObject
  | ((request: AskedRequest) => JsonObject | undefined | Promise<JsonObject | undefined>);

/** How the world around the tool behaves. */
export interface InMemoryOptions {
  readonly answers?: Readonly<Record<string, InMemoryAnswer>>;
  /** What the client has declared. Default: all that a tool can ask for. */
  readonly capabilities?: JsonObject;
  /** Default: tenant and principal "test", with the scopes that the tool wants. */
  readonly caller?: Partial<Caller>;
  /** The name of a step: the worker dies right after it was kept, once, and another runs the tool from the top. */
  readonly crashAfter?: string;
  /** Aborting it is what a cancel or a shutdown looks like to the tool. */
  readonly signal?: AbortSignal;
}

/** What a tool did on its way to its end. */
export interface Story {
  readonly progress: readonly string[];
  readonly asked: readonly { readonly key: string; readonly request: AskedRequest }[];
  /** The steps that were kept, in order. */
  readonly steps: readonly string[];
  /** How often the function was run from the top. */
  readonly runs: number;
  /** Milliseconds that the tool has slept and waited for retries, by a clock that does not tick. */
  readonly sleptMs: number;
}

/** A worker, a client and a clock, for one tool. */
export interface Memory {
  /** A worker for one run; of the preparation, when nothing is prepared yet. */
  readonly worker: (prepared?: unknown) => RunHost;
  /** Gives what a run waits for: answers if there are any, else time. Rejects when there is nothing to give. */
  readonly moveOn: (outcome: Extract<RunOutcome, { kind: "waiting" | "retry" }>) => Promise<void>;
  /** True once, after the worker died. */
  readonly takeCrash: () => boolean;
  readonly story: () => Story;
}

const ALL_CAPABILITIES = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {}, context: {} },
  roots: {},
} as const satisfies JsonObject;
const MAX_PAUSES = 500;
const requestSchema = z.object({ method: z.string(), params: z.record(z.string(), z.json()) });

/** An empty memory. */
export function createMemory(tool: Tool, options: InMemoryOptions): Memory {
  const { answers = {}, crashAfter } = options;
  const steps = new Map<string, string>();
  const requests = new Map<string, string>();
  const given = new Map<string, string>();
  const sleeps = new Map<string, number>();
  const failures = new Map<string, number>();
  const progress: string[] = [];
  const asked: { key: string; request: AskedRequest }[] = [];
  let runs = 0;
  let pauses = 0;
  let clockMs = 0;
  let crash: "none" | "now" | "over" = "none";

  const worker = (prepared?: unknown): RunHost => {
    const isRun = prepared !== undefined;
    // The preparation's questions belong to the call, not to the task that begins here.
    if (isRun && runs === 0) for (const kept of [requests, given]) kept.clear();
    if (isRun) runs += 1;
    const death = new AbortController();
    return {
      id: "task-in-memory",
      caller: { tenant: "test", principal: "test", scopes: tool.scopes, ...options.caller },
      attempt: 1 + [...failures.values()].reduce((sum, count) => sum + count, 0),
      signal: options.signal ? AbortSignal.any([options.signal, death.signal]) : death.signal,
      capabilities: options.capabilities ?? ALL_CAPABILITIES,
      prepared,
      journal: { steps, requests, answers: given, sleeps, failures },
      nowMs: () => clockMs,
      async recordStep(name, record) {
        steps.set(name, record);
        if (name !== crashAfter || crash !== "none") return;
        crash = "now";
        death.abort(new Error(`The worker died after the step ${JSON.stringify(name)}`));
      },
      progress: (message) => void progress.push(message),
      extend: async () => {},
      log: () => {},
    };
  };

  const answerTo = async ({ key, request: text }: InputRequest): Promise<boolean> => {
    const request = requestSchema.parse(JSON.parse(text));
    if (!requests.has(key)) asked.push({ key, request });
    requests.set(key, text);
    const answer = Object.hasOwn(answers, key) ? answers[key] : undefined;
    const said = typeof answer === "function" ? await answer(request) : answer;
    if (said !== undefined) given.set(key, JSON.stringify(said));
    return said !== undefined;
  };

  return {
    worker,
    async moveOn(outcome) {
      pauses += 1;
      if (pauses > MAX_PAUSES)
        throw new Error(`runToolInMemory: the tool has paused ${MAX_PAUSES} times and finds no end`);
      if (outcome.kind === "retry") {
        failures.set(outcome.failed, (failures.get(outcome.failed) ?? 0) + 1);
        clockMs += outcome.delayMs;
        return;
      }
      const answered = await Promise.all(outcome.requests.map(answerTo));
      for (const { name, durationMs } of outcome.sleeps)
        if (!sleeps.has(name)) sleeps.set(name, clockMs + durationMs);
      if (answered.includes(true)) return;
      const ends = outcome.sleeps.flatMap(({ name }) => sleeps.get(name) ?? []);
      if (ends.length === 0) throw missingAnswer(outcome.requests, Object.keys(answers));
      clockMs = Math.min(...ends);
    },
    takeCrash() {
      if (crash !== "now") return false;
      crash = "over";
      return true;
    },
    story() {
      if (crashAfter !== undefined && crash !== "over")
        throw new Error(
          `runToolInMemory: crashAfter names the step ${JSON.stringify(crashAfter)}, which was never kept; the steps were: ${[...steps.keys()].join(", ") || "none"}`,
        );
      return { progress, asked, steps: [...steps.keys()], runs, sleptMs: clockMs };
    },
  };
}

function missingAnswer(requests: readonly InputRequest[], known: readonly string[]): Error {
  const keys = requests.map(({ key }) => JSON.stringify(key)).join(" and ");
  return new Error(
    `runToolInMemory: the tool asked ${keys} and waits for an answer; options.answers has ${known.map((key) => JSON.stringify(key)).join(", ") || "none"}`,
  );
}
