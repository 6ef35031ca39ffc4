import { describe, expect, test } from "vitest";
import type { AuditEntry, AuditedState } from "../audit.ts";
import type { ClientEvent, History, SeenTask } from "../history.ts";
import { judgeAll } from "../judge.ts";
import type { Scene } from "../scenes.ts";
import type { ToolLine } from "../tool-line.ts";
import type { Evidence } from "./evidence.ts";

/*
 * The judge of the fault runs, on stories made up for it: a story that keeps every promise, and for each promise one thing in
 * it that must not be. That the runs themselves notice, `npm run chaos:controls` shows.
 */

const ID = "task";
const LEASE_MS = 2000;

const NOTHING: AuditedState = {
  status: undefined,
  ver: undefined,
  epoch: undefined,
  claim: undefined,
  leaseEnd: undefined,
  wake: undefined,
  queuedAt: undefined,
  wakeAt: undefined,
  updatedAt: undefined,
  endedBy: undefined,
  ttl: undefined,
  createdAt: undefined,
  crashes: undefined,
  isTombstone: false,
  tool: undefined,
  shown: "",
  bytes: "",
};

/** A story: what the scripts did one after the other, each from where the last one had left the record. */
class Story {
  readonly entries: AuditEntry[] = [];
  state = NOTHING;

  next(at: number, script: string, ...rest: [Partial<AuditedState>, Partial<AuditEntry>?]): this {
    const [changes, more = {}] = rest;
    const before = this.state;
    const after = { ...before, ...changes };
    const { bytes: _before, ...told } = after;
    this.state = { ...after, bytes: changes.bytes ?? JSON.stringify(told) };
    const said = { op: `op ${at}`, claim: "", epoch: "", name: "", reply: ["done"] };
    this.entries.push({ at, script, ...said, before, after: this.state, ...more });
    return this;
  }
}

const HELD = { claim: "a", epoch: "1" };

/** Created, claimed, a step, a question, an answer, claimed, done. */
function goodStory(): Story {
  return new Story()
    .next(0, "create", {
      status: "working",
      ver: 1,
      epoch: 0,
      wake: 1,
      queuedAt: 0,
      updatedAt: 0,
      shown: "1",
    })
    .next(10, "claim", { claim: "a", epoch: 1, leaseEnd: 2010, queuedAt: undefined }, { op: "", claim: "a" })
    .next(20, "record-step", { shown: "1", crashes: 0 }, { ...HELD, op: "", name: "one" })
    .next(
      30,
      "park",
      { status: "input_required", ver: 2, updatedAt: 30, claim: undefined, leaseEnd: undefined, shown: "2" },
      HELD,
    )
    .next(
      40,
      "answer",
      { status: "working", ver: 3, updatedAt: 40, wake: 2, queuedAt: 40, shown: "3" },
      { reply: ["resumed", ["first"], 2, 1] },
    )
    .next(50, "claim", { claim: "b", epoch: 2, leaseEnd: 2050, queuedAt: undefined }, { op: "", claim: "b" });
}

const settled = (story: Story): Story =>
  story.next(
    60,
    "settle",
    {
      status: "completed",
      ver: 4,
      updatedAt: 60,
      claim: undefined,
      leaseEnd: undefined,
      endedBy: "settled",
      shown: "4",
    },
    { claim: "b", epoch: "2" },
  );
const cancelled = (story: Story): Story =>
  story.next(60, "cancel", {
    status: "cancelled",
    ver: 4,
    updatedAt: 60,
    claim: undefined,
    leaseEnd: undefined,
    endedBy: "cancelled",
    shown: "4",
  });

const SCENE: Scene = {
  index: 0,
  kind: "one input",
  note: "note",
  tool: "one_input",
  args: {},
  tenant: "t",
  principal: "p",
  startsAtMs: 0,
  listens: true,
  keys: ["first"],
  style: "together",
  thinkMs: 0,
  isLate: false,
  random: {
    next: () => 0,
    between: (least) => least,
    chance: () => false,
    pick: (items) => items[0]!,
    shuffle: (items) => [...items],
    fork: () => SCENE.random,
  },
};

const seen = (status: SeenTask["status"], updatedAt: number, more: Partial<SeenTask> = {}): SeenTask => ({
  taskId: ID,
  status,
  updatedAt,
  inputs: {},
  bytes: `${status} ${updatedAt}`,
  ...more,
});
const ASKING = seen("input_required", 30, { inputs: { first: "a form" } });
const DONE = seen("completed", 60, {
  result: { text: '{"note":"note","first":"x"}', bytes: 27, isError: false },
});

const event = (what: ClientEvent["what"], at: number, more: Partial<ClientEvent> = {}): ClientEvent => ({
  what,
  via: "replica 1",
  sentAt: at - 1,
  at,
  verdict: "ok",
  ...more,
});

const goodEvents = (): ClientEvent[] => [
  event("create", 2),
  event("listen", 5, { stream: 1 }),
  event("get", 33, { seen: ASKING }),
  event("frame", 34, { stream: 1, seen: ASKING }),
  event("update", 41, { answers: { first: "x" } }),
  event("get", 70, { seen: DONE }),
  event("frame", 71, { stream: 1, seen: DONE }),
  event("stream end", 72, { stream: 1 }),
];

const line = (at: number, what: ToolLine["what"], step: string): ToolLine => ({
  at,
  pid: 1,
  task: ID,
  run: "r",
  what,
  step,
});

/** What the judge is shown: the good story, told by all sides, with what the test changes about it. */
function evidence({
  story = settled(goodStory()),
  events = goodEvents(),
  lines = [line(15, "begin", "one"), line(21, "kept", "one")],
  scene = {},
  ...more
}: {
  story?: Story;
  events?: ClientEvent[];
  lines?: ToolLine[];
  scene?: Partial<Scene>;
} & Partial<Evidence> = {}): Evidence {
  const history: History = { scene: { ...SCENE, ...scene }, taskId: ID, createdAt: 2, events, isDone: true };
  return {
    audit: new Map([[ID, story.entries]]),
    histories: [history],
    tools: new Map([[ID, lines]]),
    faults: [],
    freezes: [],
    leaseMs: LEASE_MS,
    rest: undefined,
    strangers: { toOthers: ["not found"], toNobody: ["not found"] },
    endedAt: 60_000,
    ...more,
  };
}

const brokenBy = (shown: Evidence): string[] => [
  ...new Set(judgeAll(shown).flatMap(({ violations }) => violations.map(({ promise }) => promise))),
];

test("a story that keeps every promise is found no fault with", () => {
  expect(judgeAll(evidence()).flatMap(({ violations }) => violations)).toEqual([]);
  expect(judgeAll(evidence({ story: cancelled(goodStory()), events: [event("create", 2)] }))).not.toContain(
    "I9",
  );
});

describe("the judge sees", () => {
  const refused = { verdict: "refused", error: { code: -32602, message: "Task not found" } } as const;
  const removed: Partial<AuditedState> = { ...NOTHING, isTombstone: true };
  const doubled = goodStory().next(
    55,
    "progress",
    { ver: 4, shown: "p" },
    { claim: "b", epoch: "2", op: "same" },
  );

  test.each<[string, string, Evidence]>([
    [
      "I1",
      "an id that was sent and cannot be read",
      evidence({ events: [...goodEvents(), event("get", 80, refused)] }),
    ],
    ["I1", "an id that was sent and never written", evidence({ story: new Story() })],
    [
      "I1",
      "a step that was recorded and begins again",
      evidence({ lines: [line(21, "kept", "one"), line(52, "begin", "one")] }),
    ],
    ["I2", "a terminal task that is cancelled", evidence({ story: cancelled(settled(goodStory())) })],
    [
      "I2",
      "a terminal task whose bytes change",
      evidence({ story: settled(goodStory()).next(90, "rouse", { crashes: 1 }) }),
    ],
    [
      "I2",
      "two ends that readers saw",
      evidence({ events: [...goodEvents(), event("get", 80, { seen: { ...DONE, bytes: "other" } })] }),
    ],
    [
      "I3",
      "a commit by a worker that lost its lease",
      evidence({
        story: goodStory().next(
          60,
          "settle",
          { status: "completed", ver: 4, updatedAt: 60, claim: undefined, endedBy: "settled", shown: "4" },
          HELD,
        ),
      }),
    ],
    [
      "I4",
      "a change without a version",
      evidence({
        story: settled(goodStory().next(55, "progress", { shown: "p" }, { claim: "b", epoch: "2" })),
      }),
    ],
    [
      "I4",
      "an epoch that goes back",
      evidence({
        story: settled(goodStory().next(55, "heartbeat", { epoch: 1 }, { claim: "b", epoch: "2" })),
      }),
    ],
    [
      "I5",
      "a read that goes back, on another replica",
      evidence({ events: [...goodEvents(), event("get", 80, { via: "replica 2", seen: ASKING })] }),
    ],
    [
      "I5",
      "an older frame after a newer one",
      evidence({ events: [...goodEvents(), event("frame", 80, { stream: 1, seen: ASKING })] }),
    ],
    [
      "I5",
      "what never was",
      evidence({ events: [...goodEvents(), event("get", 80, { seen: seen("failed", 61) })] }),
    ],
    [
      "I6",
      "a key with another request",
      evidence({
        events: [
          event("get", 32, { seen: { ...ASKING, inputs: { first: "another form" } } }),
          ...goodEvents(),
        ],
      }),
    ],
    [
      "I6",
      "a question that is asked after its answer was acknowledged",
      evidence({ events: [...goodEvents(), event("get", 80, { seen: ASKING })] }),
    ],
    [
      "I7",
      "an acknowledged answer that is not in the result",
      evidence({
        events: [
          ...goodEvents().filter(({ what }) => what !== "update"),
          event("update", 41, { answers: { first: "y" } }),
          event("update", 45, { answers: { first: "x" } }),
        ],
      }),
    ],
    [
      "I7",
      "an answer that is applied twice",
      evidence({
        story: settled(goodStory().next(51, "answer", { crashes: 2 }, { reply: ["accepted", ["first"]] })),
      }),
    ],
    [
      "I8",
      "a stranger who is told more",
      evidence({ strangers: { toOthers: ["a task"], toNobody: ["not found"] } }),
    ],
    [
      "I9",
      "a cancelled task that is claimed again",
      evidence({
        story: cancelled(goodStory()).next(70, "claim", { claim: "c", epoch: 3 }, { op: "", claim: "c" }),
      }),
    ],
    [
      "I9",
      "a step that begins long after the cancel",
      evidence({
        story: cancelled(goodStory()),
        events: [event("create", 2)],
        lines: [line(4000, "begin", "two")],
      }),
    ],
    [
      "I9",
      "a read that shows work after an acknowledged cancel",
      evidence({
        events: [...goodEvents(), event("cancel", 39), event("get", 45, { seen: seen("working", 40) })],
      }),
    ],
    [
      "I10",
      "an overdue task that goes without having failed",
      evidence({ story: goodStory().next(60, "expire", removed) }),
    ],
    [
      "I10",
      "a record that a late writer brings back",
      evidence({
        story: settled(goodStory())
          .next(70, "expire", removed)
          .next(80, "heartbeat", { status: "working" }, { claim: "b", epoch: "2" }),
      }),
    ],
    [
      "I11",
      "a wake-up that gets a new number when it is sent again",
      evidence({
        story: settled(
          goodStory()
            .next(51, "release", { claim: undefined, queuedAt: 51, wake: 3 }, { claim: "b", epoch: "2" })
            .next(52, "rouse", { wake: 4 })
            .next(53, "claim", { claim: "b", epoch: 3, queuedAt: undefined }, { op: "", claim: "b" }),
        ),
      }),
    ],
    ["I11", "an outcome that a fault changed", evidence({ scene: { kind: "forsaken" } })],
    [
      "I12",
      "an operation that is done twice",
      evidence({
        story: doubled.next(56, "progress", { ver: 5, shown: "q" }, { claim: "b", epoch: "2", op: "same" }),
      }),
    ],
    [
      "I13",
      "a task that nobody claims",
      evidence({ story: new Story().next(0, "create", goodStory().entries[0]!.after!) }),
    ],
    ["I13", "a lease that ended and nobody took over", evidence({ story: goodStory() })],
    [
      "I14",
      "an open stream that is not told of the end",
      evidence({
        events: goodEvents().filter(
          ({ what, seen }) => !(what === "stream end" || (what === "frame" && seen === DONE)),
        ),
      }),
    ],
    [
      "I15",
      "a job of a parked task",
      evidence({ rest: { parked: [ID], jobs: [{ id: `${ID}-1-1`, lists: [] }], freshTaskId: ID } }),
    ],
    [
      "I15",
      "a fresh task that has to wait",
      evidence({ rest: { parked: [], jobs: [], freshTaskId: "nobody" } }),
    ],
  ])("%s: %s", (promise, _, shown) => {
    expect(brokenBy(shown)).toContain(promise);
  });
});
