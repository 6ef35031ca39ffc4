import { describe, expect, test } from "vitest";
import { callToolResult } from "./content.ts";
import { assertInputResponse } from "./input-response.ts";
import type { JsonValue } from "./json.ts";
import { parseJson } from "./parse-json.ts";
import { problemOf } from "./problem.ts";
import { refusalOf } from "./refusal-of.ts";

const text = { type: "text", text: "hello" };

describe("callToolResult", () => {
  test.each([
    [{ content: [] }],
    [
      {
        content: [text],
        isError: true,
        structuredContent: null,
        _meta: { "a/b": 1 },
        resultType: "complete",
      },
    ],
    [{ content: [{ ...text, annotations: { audience: ["user"] }, later: 1 }], later: { x: [] } }],
    [{ content: [{ type: "image", data: "aGk=", mimeType: "image/png" }] }],
    [{ content: [{ type: "audio", data: "aGk=", mimeType: "audio/wav" }] }],
    [{ content: [{ type: "resource_link", uri: "a:b", name: "a" }] }],
    [{ content: [{ type: "resource", resource: { uri: "a:b", text: "x" } }] }],
    [{ content: [{ type: "resource", resource: { uri: "a:b", mimeType: "a/b", blob: "aGk=" } }] }],
  ])("takes %j as it is", (result) => {
    expect(callToolResult.parse(result)).toStrictEqual(result);
  });

  test.each<[unknown, string]>([
    [undefined, "result: expected an object"],
    [{}, "result.content: expected a list"],
    [{ content: ["hi"] }, "result.content[0]: expected an object"],
    [
      { content: [{ text: "hi" }] },
      "result.content[0].type: expected text, image, audio, resource_link or resource",
    ],
    [
      { content: [text, { type: "video" }] },
      "result.content[1].type: expected text, image, audio, resource_link or resource",
    ],
    [{ content: [{ type: "text" }] }, "result.content[0].text: expected a string"],
    [{ content: [{ type: "image", data: "" }] }, "result.content[0].mimeType: expected a string"],
    [
      { content: [{ type: "resource", resource: { uri: "a:b" } }] },
      "result.content[0].resource: expected a resource with a uri and either text or blob",
    ],
    [{ content: [], isError: "no" }, "result.isError: expected a boolean"],
  ])("says what is wrong with %j", (result, problem) => {
    const parsed = callToolResult.safeParse(result);
    expect(parsed.error && problemOf("result", parsed.error)).toBe(problem);
  });

  test("members named __proto__ change no prototype", () => {
    const result = callToolResult.parse(parseJson('{"content":[],"__proto__":{"isError":true}}'));
    expect(Object.getPrototypeOf(result)).toBe(Object.prototype);
    expect(result.isError).toBeUndefined();
  });
});

describe("assertInputResponse", () => {
  test.each<[string, JsonValue]>([
    ["elicitation/create", { action: "accept", content: { name: "x", tags: ["a"] }, later: 1 }],
    ["elicitation/create", { action: "decline" }],
    ["elicitation/create", { action: "cancel" }],
    ["sampling/createMessage", { role: "assistant", content: text, model: "m", stopReason: "endTurn" }],
    [
      "sampling/createMessage",
      { role: "assistant", content: [text, { type: "tool_use", id: "1", name: "n", input: {} }], model: "m" },
    ],
    ["roots/list", { roots: [] }],
    ["roots/list", { roots: [{ uri: "file:///a", name: "a" }] }],
    ["later/method", { anything: true }],
  ])("takes for %s %j", (method, response) => {
    expect(() => assertInputResponse({ key: "k", method, response })).not.toThrow();
  });

  test.each<[string, JsonValue | undefined, string]>([
    ["elicitation/create", undefined, ": expected an object"],
    ["elicitation/create", null, ": expected an object"],
    ["elicitation/create", [], ": expected an object"],
    ["elicitation/create", {}, ".action: expected accept, decline or cancel"],
    ["elicitation/create", { action: "ACCEPT" }, ".action: expected accept, decline or cancel"],
    ["elicitation/create", { action: "accept", content: "x" }, ".content: expected an object"],
    ["sampling/createMessage", { role: "assistant", content: text }, ".model: expected a string"],
    [
      "sampling/createMessage",
      { role: "system", content: text, model: "m" },
      ".role: expected user or assistant",
    ],
    [
      "sampling/createMessage",
      { role: "user", content: "hi", model: "m" },
      ".content: expected a content block or a list of them",
    ],
    ["roots/list", {}, ".roots: expected a list"],
    ["roots/list", { roots: [{}] }, ".roots[0].uri: expected a string"],
    ["later/method", "x", ": expected an object"],
    ["constructor", "x", ": expected an object"],
  ])("refuses for %s %j with -32602 and the path", (method, response, problem) => {
    expect(refusalOf(() => assertInputResponse({ key: "approve it", method, response }))).toMatchObject({
      rpcCode: -32602,
      httpStatus: 200,
      message: `Invalid params: params.inputResponses["approve it"]${problem}`,
    });
  });
});
