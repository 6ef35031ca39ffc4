import type { PromiseId } from "./checks/evidence.ts";

/** Text of a source file that a control puts something else in the place of. */
export interface Replacement {
  readonly file: string;
  /** Must be there just once. */
  readonly text: string;
  readonly by: string;
}

/** One safeguard less, and how the run must notice. */
export interface Mutation {
  readonly name: string;
  readonly about: string;
  readonly replacements: readonly Replacement[];
  /** The run that is aimed at it: flags of `npm run chaos`, or a file of tests. */
  readonly run: { readonly flags: readonly string[] } | { readonly tests: string };
  /** One of these must be broken; none: the run must stay green. */
  readonly breaks: readonly PromiseId[];
  /** What a violation must say, where the promise alone could be broken by a slow machine too. */
  readonly says?: string;
}

const LUA = "packages/redis/lua";
/** A run without faults. */
const calm = (tasks: number, seconds: number): readonly string[] =>
  `--only none --tasks ${tasks} --duration ${seconds}s --patience 15s`.split(" ");
/** A run with these faults, so many of each, and so many tasks a second: 6 unless told. */
function under(faults: string, { quota, seconds, rate = 6 }: Pace): readonly string[] {
  const tasks = seconds * rate;
  return `--only ${faults} --quota ${quota} --tasks ${tasks} --duration ${seconds}s --patience 20s`.split(
    " ",
  );
}

interface Pace {
  readonly quota: number;
  readonly seconds: number;
  readonly rate?: number;
}

/**
 * Nothing missing, and that must be found in order: else a red run would prove nothing. Then the mutations of `promises.md`,
 * and one for every other promise that these runs look at.
 */
export const MUTATIONS: readonly Mutation[] = [
  {
    name: "nothing-missing",
    about: "the copy as it is, under the faults of the others",
    replacements: [],
    run: { flags: under("freeze-worker,drop-adds,drop-hints,lose-replies", { quota: 2, seconds: 24 }) },
    breaks: [],
  },
  {
    name: "no-epoch-check",
    about: "a worker that lost its lease may write",
    replacements: [
      {
        file: `${LUA}/prelude/read.lua`,
        text: `if task.claim ~= claim or task.epoch ~= tonumber(epoch) then return { "fenced", "taken" } end`,
        by: "",
      },
    ],
    run: { flags: under("partition-worker,freeze-worker", { quota: 10, seconds: 45, rate: 12 }) },
    breaks: ["I3"],
  },
  {
    name: "no-terminal-check",
    about: "a task that has ended may be cancelled and settled again",
    replacements: [
      {
        file: `${LUA}/cancel.lua`,
        text: `if not listed(from, task.status) then return { "terminal", task.status } end`,
        by: "",
      },
    ],
    run: { flags: calm(60, 10) },
    breaks: ["I2"],
  },
  {
    name: "no-due-entry",
    about: "nothing is due: no lost wake-up comes again, no lease is reaped, no timer fires",
    replacements: [
      {
        file: `${LUA}/prelude/write.lua`,
        text: `redis.call("ZADD", DUE, math.min(at, task.expiresAt), TENANT_REF .. ":" .. TASK_ID)`,
        by: "",
      },
    ],
    run: { flags: under("drop-adds", { quota: 2, seconds: 10 }) },
    breaks: ["I13"],
  },
  {
    name: "no-resync",
    about: "streams never read again by themselves",
    replacements: [
      {
        file: "apps/api/src/streams/hub.ts",
        text: "const tick = (): void => {",
        by: "const tick = (): void => {\n    if (resyncMs > 0) return;",
      },
    ],
    run: { flags: under("drop-hints", { quota: 4, seconds: 16 }) },
    breaks: ["I14"],
  },
  {
    name: "no-operation-id",
    about: "a command that is sent again is done again",
    replacements: [
      {
        file: `${LUA}/prelude/read.lua`,
        text: `return last and cjson.decode(string.match(task.ops, "^[^\\n]*", last + 1))`,
        by: "return nil",
      },
    ],
    run: { flags: under("lose-replies", { quota: 6, seconds: 16 }) },
    breaks: ["I12"],
  },
  {
    name: "same-job-id",
    about: "every wake-up of a task has the same job id",
    replacements: [
      {
        file: "packages/redis/src/wake-up-jobs.ts",
        text: "jobId: `${ref.taskId}-${wake}-${epoch}`",
        by: "jobId: `${ref.taskId}-0-0`",
      },
    ],
    run: { flags: calm(110, 14) },
    breaks: ["I13"],
    says: "park: queued: the median",
  },
  {
    name: "new-wake-per-re-add",
    about: "a wake-up that is sent again is a new one each time",
    replacements: [
      {
        file: `${LUA}/rouse.lua`,
        text: `return { "wake", "queued", task.wake, task.epoch, tonumber(redis.call("HGET", COUNTS, "queued") or 1) }`,
        by: `return { "wake", "queued", enqueue(task, rewakeMs) }`,
      },
    ],
    run: { flags: under("drop-adds", { quota: 2, seconds: 10 }) },
    breaks: ["I11"],
  },
  {
    name: "heartbeat-never-aborts",
    about: "a run goes on when its task was cancelled or its lease lost",
    replacements: [
      {
        file: "apps/worker/src/hold-lease.ts",
        text: "controller.abort(new TaskStopped(why));",
        by: "",
      },
    ],
    run: { flags: calm(60, 10) },
    breaks: ["I9"],
  },
  {
    name: "record-vanishes",
    about: "a record may be thrown away, as by a Redis that evicts",
    replacements: [
      {
        file: `${LUA}/create.lua`,
        text: `redis.call("HSET", RECORD, unpack(fields))`,
        by: `redis.call("HSET", RECORD, unpack(fields))\nredis.call("PEXPIRE", RECORD, 6000)`,
      },
    ],
    run: { flags: calm(60, 10) },
    breaks: ["I1"],
  },
  {
    name: "same-ver",
    about: "a change keeps the version",
    replacements: [
      { file: `${LUA}/prelude/write.lua`, text: "local ver = task.ver + 1", by: "local ver = task.ver" },
    ],
    run: { flags: calm(60, 10) },
    breaks: ["I4"],
  },
  {
    name: "replica-remembers",
    about: "a replica answers reads out of its own memory for a while",
    replacements: [
      {
        file: "apps/api/src/own-tasks.ts",
        text: "read: (owner, taskId) => service.read({ owner, taskId: readableId(taskId) }),",
        by: `read: async (owner, taskId) => {
      const kept = (globalThis.kept ??= new Map());
      const known = kept.get(taskId);
      if (known && known.until > Date.now()) return known.reply;
      const reply = await service.read({ owner, taskId: readableId(taskId) });
      kept.set(taskId, { reply, until: Date.now() + 2500 });
      return reply;
    },`,
      },
    ],
    run: { flags: calm(80, 12) },
    breaks: ["I5"],
  },
  {
    name: "key-means-another-request",
    about: "a tool may ask another question under a key that it has used",
    replacements: [
      {
        file: "packages/toolkit/src/call-context.ts",
        text: "if (asked !== undefined && asked !== request &&",
        by: "if (false && asked !== undefined && asked !== request &&",
      },
      { file: "packages/toolkit/src/call-context.ts", text: "request: asked ?? request", by: "request" },
      {
        file: `${LUA}/park.lua`,
        text: `if known and known ~= request then return { "conflict", key } end`,
        by: "",
      },
      {
        file: `${LUA}/park.lua`,
        text: `redis.call("HSETNX", RECORD, "rq:" .. key, ARGV[i + 1])`,
        by: `redis.call("HSET", RECORD, "rq:" .. key, ARGV[i + 1])`,
      },
    ],
    run: { flags: calm(250, 20) },
    breaks: ["I6"],
  },
  {
    name: "last-answer-wins",
    about: "a later answer takes the place of the first",
    replacements: [
      {
        file: `${LUA}/answer.lua`,
        text: `redis.call("HSETNX", RECORD, "rs:" .. key, ARGV[i + 1]) == 1`,
        by: `redis.call("HSET", RECORD, "rs:" .. key, ARGV[i + 1]) >= 0`,
      },
    ],
    run: { flags: calm(100, 12) },
    breaks: ["I7"],
  },
  {
    name: "no-owner-check",
    about: "whoever is of the tenant may see its tasks",
    replacements: [
      {
        file: "packages/redis/src/redis-task-store.ts",
        text: `if (principal !== owner.principal) return { verdict: "unknown" };`,
        by: "",
      },
    ],
    run: { flags: calm(40, 6) },
    breaks: ["I8"],
  },
  {
    name: "overdue-is-removed",
    about: "an overdue task goes without having failed",
    replacements: [
      { file: `${LUA}/expire.lua`, text: "if listed(from, task.status) then", by: "if false then" },
    ],
    run: { flags: calm(60, 10) },
    breaks: ["I10"],
  },
  {
    name: "jobs-are-kept",
    about: "a job stays after its wake-up was followed",
    replacements: [
      {
        file: "packages/redis/src/bullmq-wake-ups.ts",
        text: "removeOnComplete: true",
        by: "removeOnComplete: false",
      },
    ],
    run: { flags: [...calm(40, 6), "--rest"] },
    breaks: ["I15"],
  },
  {
    name: "no-release-on-shutdown",
    about: "a worker that is told to stop keeps its leases until they run out",
    replacements: [
      {
        file: "apps/worker/src/commit-outcome.ts",
        text: `if (reason === "shutdown") return release(leg, deps);`,
        by: "",
      },
    ],
    run: { tests: "test/cluster/shutdown.test.ts" },
    breaks: ["I16"],
  },
  {
    name: "no-depth-priority",
    about: "every wake-up waits in the one queue, whoever's it is",
    replacements: [
      {
        file: "packages/redis/src/bullmq-wake-ups.ts",
        text: "Math.min(Math.max(wakeUp.depth ?? 1, 1), MAX_PRIORITY)",
        by: "1",
      },
    ],
    run: { tests: "packages/redis/src/tenants.redis.test.ts" },
    breaks: ["I17"],
  },
  {
    name: "watch-stays-open",
    about: "a stream that ends leaves its tasks watched",
    replacements: [
      {
        file: "apps/api/src/methods/listen.ts",
        text: "keeper.drop(kept);\n        close();",
        by: "keeper.drop(kept);",
      },
    ],
    run: { tests: "test/soak/soak.test.ts" },
    breaks: ["I18"],
  },
];
