import { type Cluster, type Json, type WireClient, type WireReply, startCluster } from "@perdure/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PROBE_TOOLS, accept, createProbe } from "./probe.ts";

/* Whoever does not own a task cannot tell it from one that never was: same status, same headers, same bytes, no frame. */

/** Of the proper form, and nobody's. */
const UNKNOWN = "zzzzzzzzzzzzzzzzzzzzzzzz";
const MALFORMED = ["nope", "a:b", "*", "__proto__", "é", "x".repeat(2000)];

const STRANGERS = [
  { who: "another tenant", identity: { tenant: "globex", principal: "alice" } },
  { who: "another principal of the same tenant", identity: { tenant: "acme", principal: "bob" } },
] as const;

const VERBS: readonly { readonly method: string; readonly params: (taskId: string) => Json }[] = [
  { method: "tasks/get", params: (taskId) => ({ taskId }) },
  { method: "tasks/update", params: (taskId) => ({ taskId, inputResponses: { name: accept("Mallory") } }) },
  { method: "tasks/cancel", params: (taskId) => ({ taskId }) },
];

let cluster: Cluster;
let owner: WireClient;

beforeAll(async () => {
  cluster = await startCluster({ replicas: 1, workers: 1, env: { PERDURE_TOOLS: PROBE_TOOLS } });
  owner = await cluster.client({ tenant: "acme", principal: "alice" });
});
afterAll(() => cluster?.stop());

/** All that a client can see of an answer but its date, its own number and how long it took. */
function visible({ httpStatus, headers, text }: WireReply): Json {
  const shown = Object.fromEntries(headers);
  delete shown["date"];
  delete shown["x-request-id"];
  return { httpStatus, headers: shown, text };
}

/** A task that waits for input, as its owner sees it. */
async function parkedTask(): Promise<{ readonly taskId: string; readonly text: string }> {
  const taskId = await owner.create("ask_two", createProbe().args);
  await owner.untilStatus(taskId, "input_required");
  return { taskId, text: await ownView(taskId) };
}

async function ownView(taskId: string): Promise<string> {
  return (await owner.post("tasks/get", { taskId }, { id: "own" })).text;
}

/** `Mcp-Name` cannot carry every text as it is (SEP-2243). */
function nameHeader(taskId: string): Readonly<Record<string, string>> {
  return { "mcp-name": `=?base64?${Buffer.from(taskId).toString("base64")}?=` };
}

describe.each(STRANGERS)("I8: $who", ({ identity }) => {
  test.each(VERBS)(
    "gets the same bytes of $method for a real id, an unknown one and malformed ones, and changes nothing",
    async ({ method, params }) => {
      const stranger = await cluster.client(identity);
      const { taskId, text } = await parkedTask();
      const ask = async (id: string): Promise<Json> =>
        visible(await stranger.post(method, params(id), { id: "same", headers: nameHeader(id) }));
      const unknown = await ask(UNKNOWN);
      expect(unknown).toMatchObject({
        httpStatus: 200,
        text: expect.stringContaining('"error":{"code":-32602,"message":"Task not found"'),
      });
      for (const id of [taskId, ...MALFORMED]) expect({ id, ...(await ask(id)) }).toEqual({ id, ...unknown });
      expect(await ownView(taskId)).toBe(text);
    },
  );

  test("gets the same bytes of a listen for a real and an unknown id, and no frame of a task that it does not own", async () => {
    const stranger = await cluster.client(identity);
    const { taskId } = await parkedTask();
    const own = await stranger.create("ask_two", createProbe().args);
    await stranger.untilStatus(own, "input_required");

    await using onReal = await stranger.listen([taskId, own]);
    await using onUnknown = await stranger.listen([UNKNOWN, ...MALFORMED, own]);
    expect(onReal.acknowledged).toEqual([own]);
    // The owner's task changes twice and ends, and only then the stranger's own: its end comes after whatever leaked.
    await owner.update(taskId, { name: accept("Ann") });
    await owner.update(taskId, { colour: accept("red") });
    await owner.untilStatus(taskId, "completed");
    await stranger.cancel(own);
    await onReal.until(own, "cancelled");
    await onUnknown.until(own, "cancelled");
    const textsOf = (texts: readonly string[]): readonly string[] =>
      texts.map((text) => text.replaceAll(/"listen-\d+"/g, '"listen"'));
    expect(textsOf(onReal.texts)).toEqual(textsOf(onUnknown.texts));
    expect(onReal.tasks.filter((task) => task.taskId !== own)).toEqual([]);
  });

  test("cannot go on with another's call: a requestState is good for its owner alone", async () => {
    const stranger = await cluster.client({ ...identity, capabilities: { elicitation: {} } });
    const waiting = await cluster.client({ capabilities: { elicitation: {} } });
    const { args } = createProbe();
    const { requestState } = await waiting.call("ask_two", args);
    expect(requestState).toBeTypeOf("string");
    const inputResponses = { name: accept("Mallory"), colour: accept("black") };
    await expect(stranger.call("ask_two", args, { requestState, inputResponses })).rejects.toMatchObject({
      code: -32602,
    });
    const ended = await waiting.call("ask_two", args, {
      requestState,
      inputResponses: { name: accept("Ann"), colour: accept("red") },
    });
    expect(ended.content).toEqual([{ type: "text", text: "Ann,red" }]);
  });
});

test("I8: a worker's task sees its own caller alone, whatever ran beside it", async () => {
  const callers = ["acme", "globex", "initech"].flatMap((tenant) =>
    ["alice", "bob"].map((principal) => ({ tenant, principal })),
  );
  const ended = await Promise.all(
    callers.map(async (caller) => {
      const client = await cluster.client(caller);
      const taskId = await client.create("who_calls", createProbe().args);
      return client.untilStatus(taskId, "completed");
    }),
  );
  expect(ended.map(({ result }) => result?.structuredContent)).toEqual(callers);
});

test("logs tell the ids of tasks, and neither tokens nor arguments nor answers", async () => {
  const token = await cluster.token();
  const secret = "what-the-person-answered-4711";
  const probe = createProbe();
  const taskId = await owner.create("ask_two", probe.args);
  await owner.untilStatus(taskId, "input_required");
  await owner.update(taskId, { name: accept(secret), colour: accept(secret) });
  await owner.untilStatus(taskId, "completed");
  const roles = [...cluster.replicas, ...cluster.workers];
  for (const log of await Promise.all(roles.map((role) => cluster.logOf(role)))) {
    expect(log).toContain(taskId);
    for (const hidden of [secret, probe.args.file, token.split(".", 1)[0] ?? "", "Bearer "])
      expect(log).not.toContain(hidden);
  }
});
