import { setTimeout as delay } from "node:timers/promises";
import { isTerminal } from "@perdure/tasks";
import { z } from "zod";
import { type Answered, type OpenStream, ask, listen } from "./client.ts";
import { type ClientEvent, type History, type SeenTask, saidIn, seenTask } from "./history.ts";
import type { Random } from "./random.ts";
import type { Scene } from "./scenes.ts";
import type { Role, Stage } from "./stage.ts";

/** What clients have in common. */
export interface Audience {
  readonly stage: Stage;
  /** A token of the scene's owner. */
  readonly tokenOf: (scene: Scene) => string;
  /** Aborted when the run has waited long enough. */
  readonly signal: AbortSignal;
  /** Told of the first end that a client sees. */
  readonly onEnd?: (history: History) => void;
}

const TIMEOUT_MS = 6000;
/** A stream owes its end so long (I14), and clients wait for it a little longer. */
const STREAM_WAIT_MS = 20_000;
const REMIND_MS = 2500;
const taskHandle = z.looseObject({ taskId: z.string() });

/** Plays one scene as a client would, and notes all of it. Never rejects. */
export async function playScene(scene: Scene, audience: Audience): Promise<History> {
  const history: History = { scene, taskId: undefined, createdAt: undefined, events: [], isDone: false };
  return play(history, audience);
}

/** The same with a history that somebody looks into while it grows. */
export async function play(history: History, audience: Audience): Promise<History> {
  const { scene } = history;
  const { random } = scene;
  const { signal } = audience;

  const request = async (
    what: ClientEvent["what"],
    asked: { method: string; params: Record<string, unknown>; timeoutMs?: number },
    more: { answers?: Readonly<Record<string, string>>; role?: Role; knowsTasks?: boolean } = {},
  ): Promise<Answered> => {
    const role = more.role ?? anyReplica(audience, random.next());
    const sentAt = Date.now();
    const answered: Answered = role
      ? await ask(
          { url: role.url ?? "", token: audience.tokenOf(scene) },
          { timeoutMs: TIMEOUT_MS, knowsTasks: more.knowsTasks ?? true, ...asked },
        )
      : { verdict: "unknown", text: "", httpStatus: 0, error: { code: 0, message: "No replica is up" } };
    if (!role) await delay(100);
    const said = what === "call" ? saidIn(answered.result) : undefined;
    history.events.push({
      what,
      via: role?.name ?? "nobody",
      sentAt,
      at: Date.now(),
      verdict: answered.verdict,
      ...(more.answers && { answers: more.answers }),
      ...(answered.error && { error: answered.error }),
      ...(said !== undefined && { said }),
      ...(what === "get" && answered.result && { seen: seenTask(answered.result, answered.text) }),
    });
    return answered;
  };

  const again = async (tryIt: () => Promise<Answered>): Promise<Answered> => {
    for (let tries = 0; ; tries += 1) {
      const answered = await tryIt();
      if (answered.verdict !== "unknown" || signal.aborted) return answered;
      await delay(backOffMs(tries, random));
    }
  };

  if (scene.kind === "waited") {
    // Its client holds no id: when the call is lost, or ends with a replica, the client calls again.
    const params = { name: scene.tool, arguments: scene.args };
    const call = { method: "tools/call", params, timeoutMs: 20_000 };
    for (;;) {
      const { verdict, result } = await again(() => request("call", call, { knowsTasks: false }));
      history.isDone = verdict === "ok" && saidIn(result) !== undefined;
      if (verdict !== "ok" || history.isDone) return history;
    }
  }

  const created = await again(() =>
    request("create", { method: "tools/call", params: { name: scene.tool, arguments: scene.args } }),
  );
  if (created.verdict !== "ok") return history;
  const { taskId } = taskHandle.parse(created.result);
  history.taskId = taskId;
  history.createdAt = Date.now();

  const frames: SeenTask[] = [];
  const listening = scene.listens ? keepListening(history, audience, { taskId, frames }) : undefined;
  const cancelling =
    scene.cancelAfterMs === undefined
      ? undefined
      : delay(scene.cancelAfterMs).then(() =>
          again(() => request("cancel", { method: "tasks/cancel", params: { taskId } })),
        );
  let answering: Promise<unknown> | undefined;
  const update = (answers: Record<string, string>, role?: Role): Promise<Answered> =>
    request(
      "update",
      {
        method: "tasks/update",
        params: {
          taskId,
          inputResponses: Object.fromEntries(
            Object.entries(answers).map(([key, value]) => [key, { action: "accept", content: { value } }]),
          ),
        },
      },
      { answers, ...(role && { role }) },
    );

  const answer = async (keys: readonly string[]): Promise<void> => {
    await delay(scene.thinkMs);
    const value = (key: string, copy = ""): string => `${scene.note}/${key}${copy}`;
    const one = (key: string, copy = ""): Promise<Answered> =>
      again(() => update({ [key]: value(key, copy) }));
    if (scene.style === "together")
      await again(() => update(Object.fromEntries(keys.map((key) => [key, value(key)]))));
    else if (scene.style === "apart") for (const key of keys) await one(key);
    else if (scene.style === "at once") await Promise.all(keys.map((key) => one(key)));
    else await Promise.all(keys.flatMap((key) => [one(key), one(key, " twice")]));
  };

  let askedAt: number | undefined;
  let end: SeenTask | undefined;
  let failures = 0;
  while (!end && !signal.aborted) {
    await delay(random.between(250, 1100) + (failures > 0 ? backOffMs(failures, random) : 0));
    const last = frames.at(-1);
    let seen = last && !isTerminal(last.status) && random.chance(0.5) ? last : undefined;
    if (!seen) {
      const { verdict, error } = await request("get", { method: "tasks/get", params: { taskId } });
      seen = history.events.at(-1)?.seen;
      // "Task has expired" is an end as well; "Task not found" is none, and is found fault with later.
      if (verdict === "refused" && error?.message === "Task has expired") break;
      failures = verdict === "unknown" ? failures + 1 : 0;
      if (verdict !== "ok") continue;
    }
    if (!seen) continue;
    if (isTerminal(seen.status)) end = seen;
    else if (!answering && scene.keys.length > 0) {
      if ([seen, ...frames].some(({ inputs }) => scene.keys.every((key) => Object.hasOwn(inputs, key))))
        askedAt ??= Date.now();
      // A reminded task is answered once it works again, so that the answer meets a run; in vain, no longer than a while.
      const isDue =
        scene.kind !== "reminded" ||
        seen.status === "working" ||
        Date.now() > (askedAt ?? Infinity) + REMIND_MS;
      if (askedAt !== undefined && isDue) answering = answer(scene.keys);
    }
  }
  if (end) audience.onEnd?.(history);
  await Promise.all([cancelling, answering]);
  if (end && scene.isLate) {
    await request("cancel", { method: "tasks/cancel", params: { taskId } });
    const key = scene.keys[0] ?? "first";
    await update({ [key]: `${scene.note}/late` });
    await request("get", { method: "tasks/get", params: { taskId } });
  }
  await listening?.(end !== undefined);
  history.isDone = end !== undefined;
  return history;
}

/** Longer and longer, as a client should that is told 503: what is slow already does not get faster by being asked more. */
function backOffMs(tries: number, random: Random): number {
  return random.between(50, 400) * Math.min(2 ** tries, 16);
}

/** Keeps a stream open until the task's end has come through it; opens another when one is lost. */
function keepListening(
  history: History,
  audience: Audience,
  { taskId, frames }: { readonly taskId: string; readonly frames: SeenTask[] },
): (isOver: boolean) => Promise<void> {
  const { scene } = history;
  const random = scene.random.fork("stream");
  const giveUp = new AbortController();
  let open: OpenStream | undefined;
  const ended = new AbortController();
  let stream = 0;

  const work = (async () => {
    while (!ended.signal.aborted && !giveUp.signal.aborted && !audience.signal.aborted) {
      const role = anyReplica(audience, random.next());
      if (!role) {
        await delay(100);
        continue;
      }
      stream += 1;
      const number = stream;
      const note = (what: ClientEvent["what"], sentAt: number, more: Partial<ClientEvent> = {}): void => {
        history.events.push({
          what,
          via: role.name,
          sentAt,
          at: Date.now(),
          verdict: "ok",
          stream: number,
          ...more,
        });
      };
      const sentAt = Date.now();
      const address = { url: role.url ?? "", token: audience.tokenOf(scene) };
      open = await listen(address, taskId, (seen) => {
        frames.push(seen);
        note("frame", Date.now(), { seen });
        if (!isTerminal(seen.status)) return;
        ended.abort();
        open?.close();
      });
      if (open && !open.acknowledged.includes(taskId)) {
        note("listen", sentAt, { verdict: "refused", error: { code: 0, message: "Not acknowledged" } });
        open.close();
        return;
      }
      note("listen", sentAt, { verdict: open ? "ok" : "unknown" });
      if (ended.signal.aborted || giveUp.signal.aborted) open?.close();
      await open?.ended;
      if (open) note("stream end", Date.now());
      if (!ended.signal.aborted) await delay(backOffMs(open ? 0 : stream, random));
    }
  })();

  return async (isOver) => {
    const timer = setTimeout(() => giveUp.abort(), isOver ? STREAM_WAIT_MS : 0);
    const onAbort = (): void => open?.close();
    giveUp.signal.addEventListener("abort", onAbort);
    audience.signal.addEventListener("abort", onAbort);
    if (audience.signal.aborted) onAbort();
    await work;
    clearTimeout(timer);
    audience.signal.removeEventListener("abort", onAbort);
  };
}

/** One of the replicas that are up, by a number from 0 up to 1. */
export function anyReplica({ stage }: Pick<Audience, "stage">, luck: number): Role | undefined {
  const up = stage.replicas.filter(({ url }) => url !== undefined);
  return up[Math.floor(luck * up.length)];
}
