import { setTimeout as delay } from "node:timers/promises";
import { type Audit, followAudit } from "./audit.ts";
import type { Evidence } from "./checks/evidence.ts";
import { ask } from "./client.ts";
import { doFaults } from "./fault-plan.ts";
import { type History, seenTask } from "./history.ts";
import { type Audience, play } from "./journey.ts";
import type { ChaosOptions } from "./options.ts";
import { createRandom } from "./random.ts";
import { askAsStrangers, takeRest } from "./rest.ts";
import { type Scene, planScenes } from "./scenes.ts";
import { LEASE_MS, type Stage } from "./stage.ts";
import type { ToolLine } from "./tool-line.ts";

const TOKEN_SECONDS = 7200;
/** So long no fault comes at the end, for what calm has to show. */
const CALM_SHARE = 0.12;
/** What failed by expiry is kept for a minute. */
const REMOVAL_MS = 30_000;
const READS_AT_ONCE = 16;

/** Lets clients play and faults happen, waits for the last task to end, and gives what there is to judge. */
export async function runChaos(
  stage: Stage,
  options: ChaosOptions,
  say: (line: string) => void,
): Promise<Evidence> {
  const random = createRandom(options.seed);
  const scenes = planScenes(random.fork("scenes"), options.tasks, options.durationMs);
  const tokens = await tokensFor(stage, scenes);
  const patience = new AbortController();
  const audience: Audience = {
    stage,
    tokenOf: ({ tenant, principal }) => tokens.get(`${tenant} ${principal}`) ?? "",
    signal: patience.signal,
  };
  const audit = followAudit(stage.redis);
  const histories: History[] = scenes.map((scene) => ({
    scene,
    taskId: undefined,
    createdAt: undefined,
    events: [],
    isDone: false,
  }));

  say(`${scenes.length} tasks in ${options.durationMs / 1000} s`);
  const begin = performance.now();
  const playing = Promise.all(
    histories.map(async (history) => {
      await delay(Math.max(0, history.scene.startsAtMs - (performance.now() - begin)));
      await play(history, audience);
    }),
  );
  const faulting = doFaults(stage, random.fork("faults"), {
    kinds: options.faults,
    quota: options.quota,
    durationMs: options.durationMs * (1 - CALM_SHARE),
  });
  const progress = setInterval(() => say(progressOf(histories, audit)), 10_000);
  const faults = await faulting;
  await delay(Math.max(0, options.durationMs - (performance.now() - begin)));
  const timer = setTimeout(() => patience.abort(), options.patienceMs);
  await playing;
  clearTimeout(timer);
  clearInterval(progress);
  say(progressOf(histories, audit));

  // What has not ended by now is found fault with; a rest among orphans would only take time.
  const isClean = histories.every(({ isDone }) => isDone);
  const restToken = await stage.cluster.token({ expiresInSeconds: TOKEN_SECONDS });
  const rest = isClean && options.isRestTaken ? await takeRest(stage, restToken) : undefined;
  if (options.isWhole) await untilRemoval(audit);
  const strangers = await askAsStrangers(audience, histories, random.fork("strangers"));
  await lastReads(histories, audience);
  // The tools first: what they tell, the audit knows by then.
  const lines = await stage.toolLines();
  await audit.catchUp();
  await audit.stop();

  return {
    audit: audit.tasks,
    histories,
    tools: Map.groupBy(lines, ({ task }: ToolLine) => task),
    faults,
    freezes: stage.freezes,
    leaseMs: LEASE_MS,
    rest,
    strangers,
    endedAt: Date.now(),
  };
}

async function tokensFor(stage: Stage, scenes: readonly Scene[]): Promise<ReadonlyMap<string, string>> {
  const tokens = new Map<string, string>();
  for (const { tenant, principal } of scenes)
    for (const who of [
      { tenant, principal },
      { tenant: `${tenant}-other`, principal },
      { tenant, principal: `${principal}-other` },
    ]) {
      const name = `${who.tenant} ${who.principal}`;
      if (!tokens.has(name))
        tokens.set(name, await stage.cluster.token({ ...who, expiresInSeconds: TOKEN_SECONDS }));
    }
  return tokens;
}

/** Waits for the first task to be removed, if that is soon. */
async function untilRemoval(audit: Audit): Promise<void> {
  const deadline = performance.now() + REMOVAL_MS;
  const isRemoved = (): boolean =>
    [...audit.tasks.values()].some((entries) => entries.some(({ reply }) => reply[0] === "removed"));
  while (!isRemoved() && performance.now() < deadline) {
    await delay(200);
    await audit.catchUp();
  }
}

/** Every id that was ever sent is read once more, through every replica. */
async function lastReads(histories: readonly History[], { stage, tokenOf }: Audience): Promise<void> {
  const wanted = histories.flatMap((history) =>
    history.taskId === undefined
      ? []
      : stage.replicas.map((role) => ({ history, role, taskId: history.taskId })),
  );
  let next = 0;
  const read = async (): Promise<void> => {
    for (let at = next++; at < wanted.length; at = next++) {
      const item = wanted[at];
      if (!item) continue;
      const { history, role, taskId } = item;
      const sentAt = Date.now();
      const { verdict, result, text, error } = await ask(
        { url: role.url ?? "", token: tokenOf(history.scene) },
        { method: "tasks/get", params: { taskId }, timeoutMs: 6000 },
      );
      history.events.push({
        what: "get",
        via: role.name,
        sentAt,
        at: Date.now(),
        verdict,
        ...(error && { error }),
        ...(result && { seen: seenTask(result, text) }),
      });
    }
  };
  await Promise.all(Array.from({ length: READS_AT_ONCE }, read));
}

function progressOf(histories: readonly History[], audit: Audit): string {
  const created = histories.filter(({ taskId }) => taskId !== undefined).length;
  const done = histories.filter(({ isDone }) => isDone).length;
  return `${created} created, ${done} of ${histories.length} clients done, ${audit.count()} moves audited`;
}
