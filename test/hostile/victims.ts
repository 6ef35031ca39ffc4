import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { createWireClient, until } from "@perdure/testkit";
import type { Cluster, WireClient, WireTask } from "@perdure/testkit";

/** For `PERDURE_TOOLS`: the keepers of secrets, and the demo tools after them. */
export const HOSTILE_TOOLS = `${fileURLToPath(new URL("tools/keeper-tools.ts", import.meta.url))},@perdure/demo-tools`;

/** Whose tasks may not be seen nor moved. */
export const VICTIMS = [
  { tenant: "acme", principal: "alice" },
  { tenant: "globex", principal: "gina" },
] as const;

/** A neighbour of the first victim, and one of the second. */
export const ATTACKERS = [
  { tenant: "acme", principal: "mallory" },
  { tenant: "globex", principal: "mallory" },
  { tenant: "initech", principal: "alice" },
] as const;

/** Tasks of others that an attacker knows by id, and what must never be told of them. */
export interface Victims {
  readonly taskIds: readonly string[];
  /** Texts that are in the victims' arguments, results, errors, questions, status messages and tokens, and nowhere else. */
  readonly secrets: readonly string[];
  /** Those of `secrets` that are in `text`. */
  leaksIn(text: string): readonly string[];
  /** What their owners see of the tasks now, as text. */
  view(): Promise<readonly string[]>;
}

const KEEPERS = [
  { tool: "keep_result", status: "completed" },
  { tool: "keep_error", status: "completed" },
  { tool: "keep_question", status: "input_required" },
  { tool: "keep_message", status: "working" },
] as const;

/** Makes a task of every kind for each victim and waits until it stays as it is. */
export async function createVictims(cluster: Cluster): Promise<Victims> {
  const taskIds: string[] = [];
  const secrets: string[] = [];
  const owned: { readonly client: WireClient; readonly taskId: string }[] = [];
  for (const victim of VICTIMS) {
    const token = await cluster.token({ ...victim, scope: randomUUID(), expiresInSeconds: 3600 });
    const client = createWireClient({ url: cluster.replicas[0]?.url ?? "", token });
    secrets.push(...token.split(".").slice(1));
    for (const { tool, status } of KEEPERS) {
      const secret = randomUUID();
      secrets.push(secret);
      const taskId = await client.create(tool, { secret });
      taskIds.push(taskId);
      owned.push({ client, taskId });
      await untilShown({ client, taskId, status, secret });
    }
  }
  return {
    taskIds,
    secrets,
    leaksIn: (text) => secrets.filter((secret) => text.includes(secret)),
    view: () =>
      Promise.all(
        owned.map(
          async ({ client, taskId }) => (await client.post("tasks/get", { taskId }, { id: "view" })).text,
        ),
      ),
  };
}

interface Shown {
  readonly client: WireClient;
  readonly taskId: string;
  readonly status: WireTask["status"];
  readonly secret: string;
}

async function untilShown({ client, taskId, status, secret }: Shown): Promise<void> {
  await using stream = await client.listen([taskId]);
  await until(
    () => stream.tasks.some((task) => task.status === status && JSON.stringify(task).includes(secret)),
    {
      what: `task ${taskId} to be ${status} and to hold its secret`,
      timeoutMs: 20_000,
    },
  );
}
