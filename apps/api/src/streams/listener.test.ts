import { setImmediate as nextTurn } from "node:timers/promises";
import type { ReadReply, TaskSnapshot } from "@perdure/tasks";
import { describe, expect, test } from "vitest";
import { createResultText } from "../result-text.ts";
import { createListener } from "./listener.ts";
import type { SseStream } from "./sse-stream.ts";

const snapshotOf = (taskId: string, ver: number, more: Partial<TaskSnapshot> = {}): TaskSnapshot => ({
  taskId,
  ver,
  status: "working",
  createdAtMs: 0,
  lastUpdatedAtMs: 0,
  ttlMs: 1000,
  pollIntervalMs: 100,
  ...more,
});

function fakeStream() {
  const frames: { method?: string; params?: Record<string, unknown>; result?: unknown; id?: unknown }[] = [];
  let isWritable = true;
  const stream: SseStream = {
    get isWritable() {
      return isWritable;
    },
    isClosed: false,
    lastSentMs: 0,
    stalledSinceMs: undefined,
    send: (json) => void frames.push(JSON.parse(json)),
    keepAlive: () => {},
    end: (json) => void (json !== undefined && frames.push(JSON.parse(json))),
    destroy: () => {},
  };
  return {
    stream,
    frames,
    stall: () => {
      isWritable = false;
    },
    drain: () => {
      isWritable = true;
    },
  };
}

function listenerOn(read: (taskId: string) => Promise<ReadReply>) {
  return createListener({
    subscriptionId: "listen-1",
    results: createResultText({ name: "perdure", version: "0" }),
    read,
    onNews: () => {},
  });
}

const never = (): Promise<ReadReply> => Promise.reject(new Error("not asked"));
const versions = (frames: { params?: Record<string, unknown> }[]): unknown[] =>
  frames.slice(1).map(({ params }) => params?.["statusMessage"]);

describe("a listener", () => {
  test("acknowledges first, then tells each snapshot, all tagged with the listen id", () => {
    const { stream, frames } = fakeStream();
    const listener = listenerOn(never);
    listener.open(stream, [
      { taskId: "b", snapshot: snapshotOf("b", 1) },
      { taskId: "a", snapshot: snapshotOf("a", 3) },
    ]);
    expect(frames.map(({ method }) => method)).toEqual([
      "notifications/subscriptions/acknowledged",
      "notifications/tasks",
      "notifications/tasks",
    ]);
    expect(frames[0]?.params?.["notifications"]).toEqual({ taskIds: ["b", "a"] });
    for (const { params } of frames)
      expect(params?.["_meta"]).toEqual({ "io.modelcontextprotocol/subscriptionId": "listen-1" });
  });

  test("never sends an older or the same version again", () => {
    const { stream, frames } = fakeStream();
    const listener = listenerOn(never);
    listener.open(stream, [{ taskId: "a", snapshot: snapshotOf("a", 5, { statusMessage: "5" }) }]);
    for (const ver of [4, 5, 6, 5]) listener.offer(snapshotOf("a", ver, { statusMessage: `${ver}` }));
    expect(versions(frames)).toEqual(["5", "6"]);
  });

  test("sends what changed between the read and the acknowledgement", async () => {
    const { stream, frames } = fakeStream();
    const latest = snapshotOf("a", 2, { statusMessage: "2" });
    const listener = listenerOn(async () => ({ verdict: "found", snapshot: latest }));
    listener.offer(latest);
    listener.open(stream, [{ taskId: "a", snapshot: snapshotOf("a", 1, { statusMessage: "1" }) }]);
    await nextTurn();
    expect(versions(frames)).toEqual(["2"]);
  });

  test("keeps nothing but the id for a client that does not read, and then sends the latest alone", async () => {
    const { stream, frames, stall, drain } = fakeStream();
    let latest = snapshotOf("a", 1, { statusMessage: "1" });
    let isDown = false;
    const listener = listenerOn(async () => {
      if (isDown) throw new Error("down");
      return { verdict: "found", snapshot: latest };
    });
    listener.open(stream, [{ taskId: "a", snapshot: latest }]);
    stall();
    for (let ver = 2; ver < 100; ver += 1) {
      latest = snapshotOf("a", ver, { statusMessage: `${ver}` });
      listener.offer(latest);
    }
    listener.catchUp();
    await nextTurn();
    expect(versions(frames)).toEqual(["1"]);
    drain();
    isDown = true;
    listener.catchUp();
    await nextTurn();
    isDown = false;
    listener.catchUp();
    await nextTurn();
    expect(versions(frames)).toEqual(["1", "99"]);
  });

  test("ends with the result of the listen request", () => {
    const { stream, frames } = fakeStream();
    const listener = listenerOn(never);
    listener.open(stream, []);
    listener.end();
    expect(frames.at(-1)).toEqual({
      jsonrpc: "2.0",
      id: "listen-1",
      result: {
        resultType: "complete",
        _meta: {
          "io.modelcontextprotocol/serverInfo": { name: "perdure", version: "0" },
          "io.modelcontextprotocol/subscriptionId": "listen-1",
        },
      },
    });
  });
});
