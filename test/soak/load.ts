import { setTimeout as delay } from "node:timers/promises";
import type { WireClient } from "@perdure/testkit";
import { WireFailure, until } from "@perdure/testkit";

/** Clients of every replica and of some tenants, each pair of whom are two principals. */
export interface SoakClients {
  /** With forms and tasks. */
  readonly withTasks: readonly WireClient[];
  /** That know no tasks: their calls wait. */
  readonly without: readonly WireClient[];
}

/** How long and how much. */
export interface LoadOptions {
  readonly clients: SoakClients;
  readonly durationMs: number;
  /** Scenarios begun a second. */
  readonly rate: number;
  /** Tells its idempotency keys from those of another load. */
  readonly name: string;
}

/** What was done. */
export interface LoadReport {
  /** Scenarios by their name. */
  readonly done: ReadonlyMap<string, number>;
  /** Refused with 429 or 503, or not answered: a busy machine, and no leak. */
  readonly refused: number;
  readonly problems: readonly string[];
}

/** More in hand, and no new scenario is begun: the machine cannot hold the rate. */
const MAX_IN_HAND = 200;
/** How long an impatient client waits for a call. */
const IMPATIENCE_MS = 300;

interface Scenario {
  readonly name: string;
  readonly run: (pick: {
    readonly client: WireClient;
    readonly plain: WireClient;
    readonly n: string;
  }) => Promise<void>;
}

const SCENARIOS: readonly Scenario[] = [
  {
    name: "created and polled to its end",
    async run({ client, n }) {
      const taskId = await client.create("soak_quick", { text: `text ${n}` });
      await until(async () => (await client.get(taskId)).status !== "working", {
        what: "a quick task to end",
        timeoutMs: 40_000,
      });
    },
  },
  {
    name: "asked, answered, listened to, closed",
    async run({ client }) {
      const taskId = await client.create("soak_ask", {});
      await using stream = await client.listen([taskId]);
      await stream.until(taskId, "input_required", 30_000);
      await client.update(taskId, { name: { action: "accept", content: { name: "Ann" } } });
      await until(() => stream.tasks.some(({ status }) => status === "completed" || status === "failed"), {
        what: "an answered task to end",
        timeoutMs: 40_000,
      });
    },
  },
  {
    name: "listened to and torn down",
    async run({ client }) {
      const taskId = await client.create("soak_ask", {});
      const stream = await client.listen([taskId]);
      // Aborts the socket in the middle of the stream: the replica only sees that nobody is there.
      await stream.close();
      await client.cancel(taskId);
    },
  },
  {
    name: "cancelled at once",
    async run({ client }) {
      await client.cancel(await client.create("soak_sleep", {}));
    },
  },
  {
    name: "left to expire",
    async run({ client }) {
      await client.create("soak_sleep", {});
    },
  },
  {
    name: "called twice under one key",
    async run({ client, n }) {
      const headers = { "idempotency-key": `soak-${n}` };
      const ask = () =>
        client.post("tools/call", { name: "soak_quick", arguments: { text: "once" } }, { headers });
      const [one, two] = await Promise.all([ask(), ask()]);
      for (const reply of [one, two]) if (reply.error) throw new WireFailure("tools/call", reply);
      if (one.result?.["taskId"] !== two.result?.["taskId"])
        throw new Error(`One key made two tasks: ${one.text} ${two.text}`);
    },
  },
  {
    name: "waited for and given up",
    async run({ plain }) {
      const signal = AbortSignal.timeout(IMPATIENCE_MS);
      await plain
        .post("tools/call", { name: "soak_wait", arguments: {} }, { signal })
        .catch((error: unknown) => {
          if (!signal.aborted) throw error;
        });
    },
  },
  {
    name: "refused",
    async run({ client }) {
      const { httpStatus } = await client.post(
        "tools/call",
        { name: "soak_ask", arguments: {} },
        { headers: { "mcp-name": "x" } },
      );
      if (httpStatus !== 400) throw new Error(`A mismatch got ${httpStatus}`);
    },
  },
];

/** Begins scenarios in turn, on every client in turn, at the rate; resolves when the last has ended. */
export async function load({ clients, durationMs, rate, name: loadName }: LoadOptions): Promise<LoadReport> {
  const done = new Map<string, number>(SCENARIOS.map(({ name }) => [name, 0]));
  const problems: string[] = [];
  const inHand = new Set<Promise<void>>();
  const startedMs = performance.now();
  let refused = 0;
  let begun = 0;

  const begin = async ({ name, run }: Scenario, n: number): Promise<void> => {
    const round = Math.floor(n / SCENARIOS.length);
    const client = clients.withTasks[round % clients.withTasks.length];
    const plain = clients.without[round % clients.without.length];
    if (!client || !plain) throw new Error("There are no clients");
    try {
      await run({ client, plain, n: `${loadName}-${n}` });
      done.set(name, (done.get(name) ?? 0) + 1);
    } catch (error) {
      if (error instanceof WireFailure && [429, 503].includes(error.httpStatus)) refused += 1;
      else problems.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };

  while (performance.now() - startedMs < durationMs) {
    const due = Math.min(((performance.now() - startedMs) / 1000) * rate, begun + rate);
    for (; begun < due && inHand.size < MAX_IN_HAND; begun += 1) {
      const scenario = SCENARIOS[begun % SCENARIOS.length];
      if (!scenario) break;
      const running: Promise<void> = begin(scenario, begun).finally(() => inHand.delete(running));
      inHand.add(running);
    }
    await delay(20);
  }
  await Promise.all(inHand);
  return { done, refused, problems };
}
