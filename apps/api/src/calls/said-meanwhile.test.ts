import { describe, expect, test } from "vitest";
import type { Call } from "../methods/method.ts";
import { logOf, progressOf } from "./said-meanwhile.ts";

function callWith(meta: object) {
  const said: { readonly method: string; readonly params: Readonly<Record<string, unknown>> }[] = [];
  const notify = (method: string, params: string): void =>
    void said.push({ method, params: JSON.parse(params) });
  const call: Pick<Call, "meta" | "notify"> = {
    meta: { protocolVersion: "2026-07-28", capabilities: {}, ...meta },
    notify,
  };
  return { said, call };
}

describe("progress", () => {
  test("grows with every notification, whatever the tool says", () => {
    const { said, call } = callWith({ progressToken: "t" });
    const say = progressOf(call);
    say("a", { done: 0 });
    say("b", { done: 0 });
    say("c");
    say("d", { done: 2, total: 4 });
    say("e", { done: 1 });
    say("f", { done: Number.NaN });
    const values = said.map(({ params }) => Number(params["progress"]));
    expect(said.map(({ params }) => params["message"])).toEqual(["a", "c", "d", "f"]);
    expect(values.every((value, index) => index === 0 || value > values[index - 1]!)).toBe(true);
    expect(said[2]?.params).toEqual({ progressToken: "t", progress: 2, total: 4, message: "d" });
  });

  test("without amounts it counts messages; without a token nothing is said", () => {
    const { said, call } = callWith({ progressToken: 0 });
    const say = progressOf(call);
    say("a");
    say("b");
    expect(said.map(({ params }) => params["progress"])).toEqual([1, 2]);
    const silent = callWith({});
    progressOf(silent.call)("a");
    expect(silent.said).toEqual([]);
  });
});

test("log messages are sent from the asked level up, and not at all when none was asked for", () => {
  const { said, call } = callWith({ logLevel: "warning" });
  const say = logOf(call, "tool");
  say("notice", "quiet");
  say("warning", "loud");
  say("emergency", "louder", { n: 1 });
  expect(said.map(({ params }) => params["data"])).toEqual(["loud", { message: "louder", n: 1 }]);
  const silent = callWith({});
  logOf(silent.call, "tool")("emergency", "loudest");
  expect(silent.said).toEqual([]);
});
