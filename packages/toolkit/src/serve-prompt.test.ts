import { describe, expect, test } from "vitest";
import { z } from "zod";
import { completeArgument } from "./complete-argument.ts";
import { definePrompt } from "./define-prompt.ts";
import { ToolError } from "./errors.ts";
import { createFakeHost, untyped } from "./fake-host.ts";
import { getPrompt } from "./serve-prompt.ts";

const review = definePrompt({
  name: "review",
  description: "Reviews code",
  arguments: [
    { name: "code", required: true },
    {
      name: "language",
      complete: (value) => ["python", "pytorch", "rust"].filter((one) => one.startsWith(value)),
    },
  ],
  get: ({ code, language }) => `Review this ${language ?? "code"}: ${code}`,
});
const { host } = createFakeHost();

test("a text becomes one message of the user", async () => {
  expect(await getPrompt(review, { code: "x", language: "rust" }, host)).toEqual({
    kind: "completed",
    result: {
      description: "Reviews code",
      messages: [{ role: "user", content: { type: "text", text: "Review this rust: x" } }],
    },
  });
});

test("messages and a description are passed on as they are", async () => {
  const messages = [
    { role: "user", content: { type: "image", data: "aGk=", mimeType: "image/png" } },
    { role: "assistant", content: { type: "text", text: "Nice" } },
  ] as const;
  const prompt = definePrompt({
    name: "p",
    description: "d",
    get: () => ({ description: "other", messages }),
  });
  expect(await getPrompt(prompt, undefined, host)).toEqual({
    kind: "completed",
    result: { description: "other", messages },
  });
});

test.each([
  [{}, "Invalid arguments: code: required"],
  [{ code: 7 }, "Invalid arguments: code: expected a string"],
  [{ code: "x", language: null }, "Invalid arguments: language: expected a string"],
  [[], "Invalid arguments: expected an object"],
])("arguments %j are refused with -32602", async (args, message) => {
  expect(await getPrompt(review, args, host)).toEqual({ kind: "failed", error: { code: -32602, message } });
});

test("an argument that the prompt does not know is left out, and no prototype is taken for one", async () => {
  const prompt = definePrompt({
    name: "p",
    description: "d",
    arguments: [{ name: "toString" }],
    get: (args) => JSON.stringify(Object.entries(args)),
  });
  expect(await getPrompt(prompt, { other: "x" }, host)).toMatchObject({
    result: { messages: [{ content: { text: "[]" } }] },
  });
});

test("a prompt may ask the client for input", async () => {
  const fake = createFakeHost();
  const prompt = definePrompt({
    name: "p",
    description: "d",
    async get(_args, call) {
      const answer = await call.elicit("who", { message: "Who?", schema: z.object({ name: z.string() }) });
      return answer.action === "accept" ? answer.content.name : "nobody";
    },
  });
  expect(await getPrompt(prompt, {}, fake.host)).toMatchObject({
    kind: "waiting",
    requests: [{ key: "who" }],
  });
  fake.accept("who", { name: "Alice" });
  expect(await getPrompt(prompt, {}, fake.host)).toMatchObject({
    result: { messages: [{ content: { text: "Alice" } }] },
  });
});

test("a prompt that throws is failed without its text, one that makes nonsense with the path", async () => {
  const failing = definePrompt({
    name: "p",
    description: "d",
    get: () => Promise.reject(new Error("s3cret")),
  });
  expect(await getPrompt(failing, {}, host)).toMatchObject({
    kind: "failed",
    error: { code: -32603, message: "The prompt failed" },
  });
  const odd = definePrompt({
    name: "p",
    description: "d",
    get: () => untyped({ messages: [{ role: "system" }] }),
  });
  expect(await getPrompt(odd, {}, host)).toMatchObject({
    kind: "failed",
    error: {
      code: -32603,
      message: expect.stringContaining("The prompt's messages are not valid"),
    },
  });
});

test("a ToolError in a prompt is its message, as a JSON-RPC error", async () => {
  const prompt = definePrompt({
    name: "p",
    description: "d",
    get: () => Promise.reject(new ToolError("Closed")),
  });
  expect(await getPrompt(prompt, {}, host)).toMatchObject({
    kind: "failed",
    error: { code: -32603, message: "Closed" },
  });
});

describe("completion", () => {
  test("suggests what begins alike", async () => {
    expect(await completeArgument(review, { name: "language", value: "py" })).toEqual({
      kind: "completed",
      result: { completion: { values: ["python", "pytorch"], total: 2, hasMore: false } },
    });
  });

  test("gives a hundred values at most, and says that there are more", async () => {
    const prompt = definePrompt({
      name: "p",
      description: "d",
      arguments: [{ name: "n", complete: () => Array.from({ length: 101 }, (_, index) => `${index}`) }],
      get: () => "",
    });
    const end = await completeArgument(prompt, { name: "n", value: "" });
    const values = Array.from({ length: 100 }, (_, index) => `${index}`);
    expect(end).toMatchObject({ result: { completion: { values, total: 101, hasMore: true } } });
  });

  test("an argument without suggestions has none; one that does not exist is -32602; one that throws is -32603", async () => {
    expect(await completeArgument(review, { name: "code", value: "" })).toMatchObject({
      result: { completion: { values: [] } },
    });
    expect(await completeArgument(review, { name: "nope", value: "" })).toMatchObject({
      error: { code: -32602 },
    });
    const prompt = definePrompt({
      name: "p",
      description: "d",
      arguments: [{ name: "n", complete: () => Promise.reject(new Error("s3cret")) }],
      get: () => "",
    });
    expect(await completeArgument(prompt, { name: "n", value: "" })).toMatchObject({
      error: { code: -32603, message: "The completion failed" },
    });
  });

  test("hears which other arguments are filled in", async () => {
    const prompt = definePrompt({
      name: "p",
      description: "d",
      arguments: [{ name: "framework", complete: (_value, others) => [others["language"] ?? "none"] }],
      get: () => "",
    });
    const end = await completeArgument(prompt, {
      name: "framework",
      value: "",
      others: { language: "python" },
    });
    expect(end).toMatchObject({ result: { completion: { values: ["python"] } } });
  });
});

test.each<[string, object]>([
  ["name must be", { name: "a b" }],
  ["description must say", { description: "" }],
  ["get must be a function", { get: 1 }],
  ["two arguments have the same name", { arguments: [{ name: "a" }, { name: "a" }] }],
  ["an argument has no name", { arguments: [{ name: "" }] }],
])("a wrong prompt is refused: %s", (problem, change) => {
  expect(() => definePrompt(untyped({ name: "p", description: "d", get: () => "", ...change }))).toThrow(
    problem,
  );
});
