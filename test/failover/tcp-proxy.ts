import { connect, createServer } from "node:net";
import type { Server, Socket } from "node:net";
import type { Random } from "./random.ts";
import { bulk, createSplitter, isMessage, isPush, wordsOf } from "./resp.ts";

/** What a proxy has done to its connections so far. */
export interface ProxyCounts {
  cuts: number;
  delayed: number;
  held: number;
  repliesLost: number;
  addsDropped: number;
  addsDoubled: number;
  hintsDropped: number;
}

/** How a proxy treats the commands that add a wake-up job. Probabilities. */
export interface AddFault {
  readonly drop: number;
  readonly double: number;
  readonly random: Random;
}

/** The way of one role to Redis, in the hands of a test. It looks at whole commands and replies, and changes no byte of them. */
export interface TcpProxy extends AsyncDisposable {
  readonly url: string;
  readonly counts: Readonly<ProxyCounts>;
  /** Breaks every connection; new ones are taken. */
  cut(): void;
  /** Lets everything come so much later, in both directions. */
  delay(ms: number): void;
  /** A partition: nothing passes, nothing is refused; new connections hang too. */
  hold(): void;
  /**
   * Ends the partition. What was held is delivered late, also what was sent by somebody who has hung up since, as a network
   * does; or the connections are broken.
   */
  release(how: "deliver" | "cut"): void;
  /** Of the next writes of task records every fourth or so, and so many in all, loses its reply: it is done, the connection breaks. */
  loseReplies(count: number, random: Random): void;
  faultAdds(fault: AddFault | undefined): void;
  dropHints(isDropping: boolean): void;
}

/** What is to be done with the reply that comes next on a connection. */
type Expected = "pass" | "swallow" | "lose" | { readonly said: Buffer };

/** Starts a proxy in front of the Redis on `port`. */
export async function startTcpProxy(port: number): Promise<TcpProxy> {
  const links = new Set<Link>();
  const counts: ProxyCounts = {
    cuts: 0,
    delayed: 0,
    held: 0,
    repliesLost: 0,
    addsDropped: 0,
    addsDoubled: 0,
    hintsDropped: 0,
  };
  const mood: Mood = {
    delayMs: 0,
    isHeld: false,
    repliesToLose: 0,
    random: undefined,
    adds: undefined,
    isDroppingHints: false,
  };

  const server = createServer((client) => {
    const link = openLink(client, connect(port, "127.0.0.1"), { mood, counts });
    links.add(link);
    void link.gone.then(() => links.delete(link));
  });
  const ownPort = await listen(server);

  const cut = (): void => {
    for (const link of links) {
      counts.cuts += 1;
      link.destroy();
    }
  };
  return {
    url: `redis://127.0.0.1:${ownPort}`,
    counts,
    cut,
    delay(ms) {
      mood.delayMs = ms;
    },
    hold() {
      mood.isHeld = true;
    },
    release(how) {
      mood.isHeld = false;
      if (how === "cut") cut();
      else for (const link of links) link.flow();
    },
    loseReplies(count, random) {
      mood.repliesToLose = count;
      mood.random = random;
    },
    faultAdds(fault) {
      mood.adds = fault;
    },
    dropHints(isDropping) {
      mood.isDroppingHints = isDropping;
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const link of links) link.destroy();
      await closed;
    },
  };
}

interface Mood {
  delayMs: number;
  isHeld: boolean;
  repliesToLose: number;
  random: Random | undefined;
  adds: AddFault | undefined;
  isDroppingHints: boolean;
}

interface Link {
  /** Both ends are closed. */
  readonly gone: Promise<unknown>;
  destroy(): void;
  /** Sends what was held back and may go now. */
  flow(): void;
}

const LOST = 0.25;
const TASK_WRITE = /^\{s\d\d\}:t:/;
/** BullMQ's two scripts that add a job, with or without a priority, are known by their first keys, of nine. */
const ADDS = /^9 \{s\d\d\}:wakeups:(?:wait \{s\d\d\}:wakeups:paused|marker \{s\d\d\}:wakeups:meta)$/;

function openLink(
  client: Socket,
  redis: Socket,
  { mood, counts }: { readonly mood: Mood; readonly counts: ProxyCounts },
): Link {
  const expected: Expected[] = [];
  const up = createPipe(redis, mood, counts);
  const down = createPipe(client, mood, counts);
  const destroy = (): void => {
    client.destroy();
    redis.destroy();
    up.end();
    down.end();
  };
  for (const socket of [client, redis]) {
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.on("close", () => {
      if (!mood.isHeld) destroy();
    });
  }

  /** Replies that need nothing of Redis go out as soon as it is their turn. */
  const sayOwn = (): void => {
    for (let next = expected[0]; typeof next === "object"; next = expected[0]) {
      expected.shift();
      down.send(next.said);
    }
  };

  const onCommand = (command: Buffer): void => {
    const [verb = "", , keyCount = "", firstKey = "", secondKey = ""] = wordsOf(command, 5);
    const name = verb.toUpperCase();
    if (name === "SUBSCRIBE" || name === "UNSUBSCRIBE") return up.send(command);
    const isScript = name === "EVALSHA" || name === "EVAL";
    if (isScript && TASK_WRITE.test(secondKey) && mood.repliesToLose > 0 && mood.random?.chance(LOST)) {
      mood.repliesToLose -= 1;
      expected.push("lose");
      return up.send(command);
    }
    if (isScript && mood.adds && ADDS.test(`${keyCount} ${firstKey} ${secondKey}`)) {
      const luck = mood.adds.random.next();
      if (luck < mood.adds.drop) {
        counts.addsDropped += 1;
        expected.push({ said: bulk("dropped") });
        return sayOwn();
      }
      if (luck < mood.adds.drop + mood.adds.double) {
        counts.addsDoubled += 1;
        expected.push("pass", "swallow");
        up.send(command);
        return up.send(command);
      }
    }
    expected.push("pass");
    return up.send(command);
  };

  const onReply = (reply: Buffer): void => {
    if (isMessage(reply)) {
      if (mood.isDroppingHints) counts.hintsDropped += 1;
      else down.send(reply);
      return;
    }
    if (isPush(reply)) return down.send(reply);
    const what = expected.shift() ?? "pass";
    if (what === "lose") {
      counts.repliesLost += 1;
      return destroy();
    }
    if (what === "pass") down.send(reply);
    return sayOwn();
  };

  client.on("data", createSplitter(onCommand));
  redis.on("data", createSplitter(onReply));
  return {
    gone: Promise.all([closed(client), closed(redis)]),
    destroy,
    flow() {
      up.flow();
      down.flow();
      if (client.destroyed) redis.end();
      if (redis.destroyed) destroy();
    },
  };
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once("close", () => resolve());
  });
}

interface Pipe {
  send(bytes: Buffer): void;
  flow(): void;
  end(): void;
}

/** Delivers in order, later by the delay of the moment, and not at all while the proxy holds. */
function createPipe(to: Socket, mood: Mood, counts: ProxyCounts): Pipe {
  const waiting: { readonly bytes: Buffer; readonly at: number }[] = [];
  let timer: NodeJS.Timeout | undefined;

  const flow = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (mood.isHeld || waiting.length === 0) return;
    const now = performance.now();
    const due = waiting.findIndex(({ at }) => at > now);
    const ready = waiting.splice(0, due < 0 ? waiting.length : due);
    if (ready.length > 0 && to.writable) to.write(Buffer.concat(ready.map(({ bytes }) => bytes)));
    const next = waiting[0];
    if (next) timer = setTimeout(flow, next.at - now);
  };

  return {
    send(bytes) {
      if (!mood.isHeld && mood.delayMs === 0 && waiting.length === 0) {
        if (to.writable) to.write(bytes);
        return;
      }
      if (mood.isHeld) counts.held += 1;
      else if (mood.delayMs > 0) counts.delayed += 1;
      waiting.push({ bytes: Buffer.from(bytes), at: performance.now() + mood.delayMs });
      if (!mood.isHeld && timer === undefined) flow();
    },
    flow,
    end() {
      clearTimeout(timer);
      waiting.length = 0;
    },
  };
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      if (address === null || typeof address === "string") reject(new Error("The proxy has no port"));
      else resolve(address.port);
    });
  });
}
