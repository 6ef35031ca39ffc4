import { setTimeout as delay } from "node:timers/promises";
import type { WireClient, WireReply } from "@perdure/testkit";

/** What a steady load saw. */
export interface LoadFigures {
  readonly requests: number;
  /** Answers that were no result, and requests without an answer, each in a few words. */
  readonly failures: readonly string[];
  readonly created: number;
  readonly completed: number;
  /** Ids that were given and whose task has not completed by the end. */
  readonly lost: readonly string[];
}

/** A load that goes on until it is stopped. */
export interface SteadyLoad {
  /** Stops creating, follows what was created to its end, and says what happened. */
  stop(): Promise<LoadFigures>;
}

const POLL_MS = 300;
const FOLLOW_MS = 120_000;

/** Clients that each create a task, poll it to its end, and begin anew. None of them tries anything twice. */
export function startSteadyLoad(client: WireClient, clients: number): SteadyLoad {
  const failures: string[] = [];
  const open = new Set<string>();
  let requests = 0;
  let created = 0;
  let completed = 0;
  const stop = new AbortController();
  const stopping = stop.signal;

  const ask = async (
    method: string,
    params: Record<string, string | object>,
  ): Promise<WireReply["result"]> => {
    requests += 1;
    try {
      const reply = await client.post(method, params);
      if (reply.result === undefined)
        failures.push(`${method}: HTTP ${reply.httpStatus} ${reply.text.slice(0, 200)}`);
      return reply.result;
    } catch (error) {
      failures.push(`${method}: ${String(error)} ${String(error instanceof Error ? error.cause : "")}`);
      return undefined;
    }
  };

  const follow = async (taskId: string): Promise<void> => {
    const deadline = performance.now() + FOLLOW_MS;
    while (performance.now() < deadline) {
      const task = await ask("tasks/get", { taskId });
      if (task?.["status"] === "completed") {
        completed += 1;
        open.delete(taskId);
        return;
      }
      if (task?.["status"] === "failed" || task?.["status"] === "cancelled") return;
      await delay(POLL_MS);
    }
  };

  const work = async (): Promise<void> => {
    while (!stopping.aborted) {
      const result = await ask("tools/call", {
        name: "slow_compute",
        arguments: { seconds: 1, label: "load" },
      });
      const taskId = result?.["taskId"];
      if (typeof taskId !== "string") continue;
      created += 1;
      open.add(taskId);
      await follow(taskId);
    }
  };

  const workers = Promise.all(Array.from({ length: clients }, work));
  return {
    async stop() {
      stop.abort();
      await workers;
      return { requests, failures, created, completed, lost: [...open] };
    },
  };
}
