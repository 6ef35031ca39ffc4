import { setTimeout as delay } from "node:timers/promises";
import type { FaultKind } from "./fault-kinds.ts";
import type { Random } from "./random.ts";
import { LEASE_MS, type Role, type Stage } from "./stage.ts";
import type { TcpProxy } from "./tcp-proxy.ts";

/** One fault as it was. Times in milliseconds since the epoch. */
export interface FaultWindow {
  readonly kind: FaultKind;
  readonly from: number;
  /** When all was mended again. */
  readonly to: number;
  /** On what, and how much of it. */
  readonly about: string;
  /** Did it do anything? Nothing was lost where nothing passed. */
  readonly tookEffect: boolean;
}

/** What a fault is done with. */
interface Scenery {
  readonly stage: Stage;
  readonly random: Random;
  /** What cannot be done twice at once has one lock. */
  readonly locks: Locks;
}

/** What a fault did; `effect` counts, 0 is none. */
interface Done {
  readonly about: string;
  readonly effect: number;
}

type Fault = (scenery: Scenery) => Promise<Done>;

const COUNTED_MS = 4000;

const FAULTS: Readonly<Record<FaultKind, Fault>> = {
  "kill-replica": killRole("replica"),
  "kill-worker": killRole("worker"),

  async "kill-redis"({ stage, random, locks }) {
    const downMs = random.between(0, 1000);
    await locks.of("redis").hold(async () => {
      await stage.cluster.redis.kill();
      await delay(downMs);
      await stage.cluster.restartRedis();
    });
    return { about: `down for ${downMs} ms and its start`, effect: 1 };
  },

  "freeze-worker": withRole("worker", async (role, { stage, random }) => {
    const ms = Math.round(LEASE_MS * (1.2 + random.next()));
    await stage.freeze(role, ms);
    return { about: `${role.name} for ${ms} ms`, effect: 1 };
  }),

  async "kill-subscribers"({ stage }) {
    const killed = Number(await stage.redis.call("CLIENT", "KILL", "TYPE", "pubsub"));
    return { about: `${killed} connections`, effect: killed };
  },

  async "pause-redis"({ stage, random, locks }) {
    const ms = random.between(400, 2500);
    const isSignal = random.chance(0.5);
    await locks.of("redis").hold(async () => {
      if (isSignal) {
        process.kill(stage.cluster.redis.pid, "SIGSTOP");
        await delay(ms);
        process.kill(stage.cluster.redis.pid, "SIGCONT");
      } else {
        await stage.redis.call("CLIENT", "PAUSE", String(ms), "ALL");
        await delay(ms);
      }
    });
    return { about: `${isSignal ? "SIGSTOP" : "CLIENT PAUSE"} for ${ms} ms`, effect: 1 };
  },

  "lose-replies": withProxies(async (proxies, { random }) => {
    const count = random.between(1, 4);
    for (const proxy of proxies) proxy.loseReplies(count, random);
    const lost = await untilCounted(proxies, "repliesLost", count * 2);
    for (const proxy of proxies) proxy.loseReplies(0, random);
    return { about: `${lost} replies`, effect: lost };
  }),

  async "flush-scripts"({ stage }) {
    await stage.redis.script("FLUSH");
    return { about: "", effect: 1 };
  },

  "partition-replica": withRole("replica", async ({ name, proxy }, { random }) => {
    const ms = random.between(800, 3500);
    const before = proxy.counts.held;
    proxy.hold();
    await delay(ms);
    proxy.release(random.pick(["deliver", "cut"] as const));
    return { about: `${name} for ${ms} ms`, effect: proxy.counts.held - before };
  }),

  "partition-worker": withRole("worker", async ({ name, proxy }, { random }) => {
    const ms = Math.round(LEASE_MS * (1.2 + random.next()));
    const before = proxy.counts.held;
    proxy.hold();
    await delay(ms);
    proxy.release(random.chance(0.8) ? "deliver" : "cut");
    return { about: `${name} for ${ms} ms`, effect: proxy.counts.held - before };
  }),

  async "cut-connections"({ stage, random }) {
    const { name, proxy } = random.pick(stage.roles);
    const before = proxy.counts.cuts;
    proxy.cut();
    return { about: `${proxy.counts.cuts - before} of ${name}`, effect: proxy.counts.cuts - before };
  },

  async "delay-network"({ stage, random }) {
    const { name, proxy } = random.pick(stage.roles);
    const [ms, forMs] = [random.between(50, 300), random.between(1000, 3000)];
    const before = proxy.counts.delayed;
    proxy.delay(ms);
    await delay(forMs);
    proxy.delay(0);
    return { about: `${name} by ${ms} ms for ${forMs} ms`, effect: proxy.counts.delayed - before };
  },

  async "wipe-queue"({ stage }) {
    const keys = await stage.redis.keys("{s00}:wakeups:*");
    if (keys.length > 0) await stage.redis.del(...keys);
    return { about: `${keys.length} keys`, effect: keys.length };
  },

  "drop-adds": faultAdds("drop", "addsDropped"),
  "double-adds": faultAdds("double", "addsDoubled"),

  "drop-hints": withProxies(async (proxies, { random }) => {
    const ms = random.between(2000, 4000);
    const before = sum(proxies, "hintsDropped");
    for (const proxy of proxies) proxy.dropHints(true);
    await delay(ms);
    for (const proxy of proxies) proxy.dropHints(false);
    const dropped = sum(proxies, "hintsDropped") - before;
    return { about: `${dropped} messages in ${ms} ms`, effect: dropped };
  }),

  async "rolling-restart"(scenery) {
    const replace = async (role: Role): Promise<Done> => {
      for (const build of ["previous", "present"] as const) {
        await scenery.stage.leave(role);
        await scenery.stage.start(role, build);
        if (build === "previous") await delay(scenery.random.between(500, 2000));
      }
      return { about: role.name, effect: 1 };
    };
    const worker = await withRole("worker", replace)(scenery);
    const replica = await withRole("replica", replace)(scenery);
    return { about: `${worker.about}, ${replica.about}`, effect: 1 };
  },
};

/** Faults that use the same switch of the proxies; each has it to itself. */
const SWITCHES: Partial<Readonly<Record<FaultKind, string>>> = {
  "lose-replies": "replies",
  "drop-adds": "adds",
  "double-adds": "adds",
  "drop-hints": "hints",
  "delay-network": "delay",
};

/** Does one fault, and mends it. A fault that cannot even be done rejects: the run would prove less than it says. */
export async function doFault(kind: FaultKind, scenery: Scenery): Promise<FaultWindow> {
  return scenery.locks.of(SWITCHES[kind] ?? scenery.random.next()).hold(async () => {
    const from = Date.now();
    const { about, effect } = await FAULTS[kind](scenery);
    return { kind, from, to: Date.now(), about, tookEffect: effect > 0 };
  });
}

function killRole(kind: Role["kind"]): Fault {
  return withRole(kind, async (role, { stage }) => {
    await stage.kill(role);
    await stage.start(role);
    return { about: role.name, effect: 1 };
  });
}

/** Takes one role of the kind in hand, while another one of it is left alone. */
function withRole(
  kind: Role["kind"],
  use: (role: Role, scenery: Scenery) => Promise<Done>,
): (scenery: Scenery) => Promise<Done> {
  return async (scenery) => {
    const { stage, random } = scenery;
    const cast = kind === "replica" ? stage.replicas : stage.workers;
    while (cast.filter(({ isBusy }) => !isBusy).length < Math.min(2, cast.length)) await delay(50);
    const role = random.pick(cast.filter(({ isBusy }) => !isBusy));
    role.isBusy = true;
    try {
      return await use(role, scenery);
    } finally {
      role.isBusy = false;
    }
  };
}

function withProxies(use: (proxies: readonly TcpProxy[], scenery: Scenery) => Promise<Done>): Fault {
  return (scenery) =>
    use(
      scenery.stage.roles.map(({ proxy }) => proxy),
      scenery,
    );
}

function faultAdds(how: "drop" | "double", counted: "addsDropped" | "addsDoubled"): Fault {
  return withProxies(async (proxies, { random }) => {
    const share = 0.1 + random.next() * 0.4;
    const ms = random.between(2000, 4000);
    const before = sum(proxies, counted);
    for (const proxy of proxies) proxy.faultAdds({ drop: 0, double: 0, random, [how]: share });
    await delay(ms);
    for (const proxy of proxies) proxy.faultAdds(undefined);
    const count = sum(proxies, counted) - before;
    return { about: `${Math.round(share * 100)} %: ${count} jobs in ${ms} ms`, effect: count };
  });
}

async function untilCounted(
  proxies: readonly TcpProxy[],
  counted: keyof TcpProxy["counts"],
  count: number,
): Promise<number> {
  const before = sum(proxies, counted);
  const deadline = performance.now() + COUNTED_MS;
  while (sum(proxies, counted) - before < count && performance.now() < deadline) await delay(20);
  return sum(proxies, counted) - before;
}

function sum(proxies: readonly TcpProxy[], counted: keyof TcpProxy["counts"]): number {
  return proxies.reduce((total, { counts }) => total + counts[counted], 0);
}

/** Locks by name. */
export interface Locks {
  of(name: string | number): {
    /** Waits for its turn. */
    hold<Result>(work: () => Promise<Result>): Promise<Result>;
  };
}

/** {@link Locks}, all free. */
export function createLocks(): Locks {
  const turns = new Map<string | number, Promise<unknown>>();
  return {
    of: (name) => ({
      hold(work) {
        const mine = (turns.get(name) ?? Promise.resolve()).then(work);
        turns.set(
          name,
          mine.catch(() => {}),
        );
        return mine;
      },
    }),
  };
}
