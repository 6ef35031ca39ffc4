import { z } from "zod";
import type { JsonObject } from "./json.ts";
import type { RunHost } from "./run-host.ts";

/** For this package's tests: a host that keeps everything in maps, which a test fills and reads. */
export function createFakeHost(changes: Partial<RunHost> = {}) {
  const journal = {
    steps: new Map<string, string>(),
    requests: new Map<string, string>(),
    answers: new Map<string, string>(),
    sleeps: new Map<string, number>(),
    failures: new Map<string, number>(),
  };
  const abort = new AbortController();
  const said: string[] = [];
  const logged: string[] = [];
  const extended: number[] = [];
  const host: RunHost = {
    id: "task-1",
    caller: { tenant: "acme", principal: "alice", scopes: ["reports"] },
    attempt: 1,
    signal: abort.signal,
    capabilities: { elicitation: {}, sampling: {}, roots: {} },
    prepared: undefined,
    journal,
    nowMs: () => 1_000,
    async recordStep(name, record) {
      journal.steps.set(name, record);
    },
    progress: (message) => void said.push(message),
    extend: async (ms) => void extended.push(ms),
    log: (level, message) => void logged.push(`${level} ${message}`),
    ...changes,
  };
  const accept = (key: string, content: JsonObject): void =>
    void journal.answers.set(key, JSON.stringify({ action: "accept", content }));
  return { host, journal, abort, said, logged, extended, accept };
}

/** The value without its type: for what a compiler would refuse and plain JavaScript may pass. */
export const untyped = (value: unknown) => z.any().parse(value);
