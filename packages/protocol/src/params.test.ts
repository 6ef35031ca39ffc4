import { describe, expect, test } from "vitest";
import { jsonObjectOf } from "./json-object-of.ts";
import type { JsonObject } from "./json.ts";
import { MAX_LISTEN_IDS, PARAMS, parseParams, type KnownMethod } from "./params.ts";
import { refusalOf } from "./refusal-of.ts";

function listen(taskIds: string[]): readonly string[] | undefined {
  return parseParams(PARAMS["subscriptions/listen"], { notifications: { taskIds } }).notifications.taskIds;
}

describe("parseParams", () => {
  test.each<[KnownMethod, JsonObject | undefined, string]>([
    ["tools/list", { cursor: 1 }, "params.cursor: expected a string"],
    ["tools/call", undefined, "params.name: expected a string"],
    ["tools/call", { name: 5 }, "params.name: expected a string"],
    ["tools/call", { name: "a", arguments: [] }, "params.arguments: expected an object"],
    ["tools/call", { name: "a", arguments: null }, "params.arguments: expected an object"],
    ["tools/call", { name: "a", inputResponses: "x" }, "params.inputResponses: expected an object"],
    ["tools/call", { name: "a", requestState: {} }, "params.requestState: expected a string"],
    ["tasks/get", {}, "params.taskId: expected a string"],
    ["tasks/update", { taskId: "a" }, "params.inputResponses: expected an object"],
    ["tasks/cancel", { taskId: null }, "params.taskId: expected a string"],
    ["subscriptions/listen", {}, "params.notifications: expected an object"],
    [
      "subscriptions/listen",
      { notifications: { taskIds: "a" } },
      "params.notifications.taskIds: expected a list",
    ],
    [
      "subscriptions/listen",
      { notifications: { taskIds: ["a", 5] } },
      "params.notifications.taskIds[1]: expected a string",
    ],
    [
      "subscriptions/listen",
      { notifications: { toolsListChanged: "yes" } },
      "params.notifications.toolsListChanged: expected a boolean",
    ],
    ["prompts/get", { name: "a", arguments: { x: 1 } }, "params.arguments.x: expected a string"],
    ["resources/read", {}, "params.uri: expected a string"],
    [
      "completion/complete",
      { ref: { type: "x" }, argument: { name: "a", value: "b" } },
      "params.ref: expected a ref/prompt with a name or a ref/resource with a uri",
    ],
    [
      "completion/complete",
      { ref: { type: "ref/prompt", name: "a" }, argument: {} },
      "params.argument.name: expected a string",
    ],
  ])("refuses %s with %j: -32602 in-band, and the path", (method, params, problem) => {
    expect(refusalOf(() => parseParams(PARAMS[method], params))).toMatchObject({
      kind: "invalidParams",
      rpcCode: -32602,
      httpStatus: 200,
      message: `Invalid params: ${problem}`,
    });
  });

  test("passes unknown members, and hands over a client's objects themselves", () => {
    const args = jsonObjectOf('{"__proto__":1,"constructor":[],"n":{}}');
    const parsed = parseParams(PARAMS["tools/call"], { name: "a", arguments: args, _meta: {}, later: true });
    expect(parsed.arguments).toBe(args);
    expect(parsed.name).toBe("a");
  });

  test("the params of a discover or a list may be absent", () => {
    expect(parseParams(PARAMS["server/discover"], undefined)).toStrictEqual({});
    expect(parseParams(PARAMS["tools/list"], undefined)).toStrictEqual({});
    expect(parseParams(PARAMS["tools/list"], { cursor: "" })).toStrictEqual({ cursor: "" });
  });

  test("a listen filter names at most 1,000 tasks, each counted once", () => {
    const most = Array.from({ length: MAX_LISTEN_IDS }, (_, at) => `t${at}`);
    expect(listen(most)).toStrictEqual(most);
    expect(listen(["a", "b", "a"])).toStrictEqual(["a", "b"]);
    expect(refusalOf(() => listen([...most, "more"])).message).toBe(
      "Invalid params: params.notifications.taskIds: expected at most 1000 entries",
    );
  });

  test("an id too long to be a task's is left out of a listen filter like any unknown one, not refused", () => {
    const taskIds = ["a", "x".repeat(257), "y".repeat(256)];
    const parsed = parseParams(PARAMS["subscriptions/listen"], { notifications: { taskIds } });
    expect(parsed.notifications.taskIds).toStrictEqual(["a", "y".repeat(256)]);
  });

  test("a prompt's arguments named __proto__ change no prototype", () => {
    const args = jsonObjectOf('{"__proto__":"x","a":"b"}');
    const parsed = parseParams(PARAMS["prompts/get"], { name: "p", arguments: args });
    expect(Object.getPrototypeOf(parsed.arguments)).toBe(Object.prototype);
    expect(parsed.arguments?.["a"]).toBe("b");
  });

  test("no value and no more than a little of a key is echoed", () => {
    const key = "k".repeat(100_000);
    const refusal = refusalOf(() =>
      parseParams(PARAMS["prompts/get"], { name: "a", arguments: { [key]: 1 } }),
    );
    expect(refusal.message.length).toBeLessThan(150);
    const spaced = refusalOf(() =>
      parseParams(PARAMS["prompts/get"], { name: "a", arguments: { "a\nb": 1 } }),
    );
    expect(spaced.message).toBe('Invalid params: params.arguments["a\\nb"]: expected a string');
  });
});
