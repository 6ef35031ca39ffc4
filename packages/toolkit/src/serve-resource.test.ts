import { expect, test } from "vitest";
import type { Catalog } from "./catalog.ts";
import { completeArgument } from "./complete-argument.ts";
import { defineResource } from "./define-resource.ts";
import { createFakeHost, untyped } from "./fake-host.ts";
import { findResource, readResource } from "./serve-resource.ts";

const welcome = defineResource({
  uri: "docs://welcome",
  name: "Welcome",
  mimeType: "text/plain",
  read: () => "Hello",
});
const weather = defineResource({
  uriTemplate: "weather://{city}/{day}",
  name: "Weather",
  complete: { city: () => ["Paris"] },
  read: ({ city, day }) => (city === "Atlantis" ? undefined : `${city} on ${day}`),
});
const { host } = createFakeHost();

test("a text is read under its URI, with its type", async () => {
  expect(await readResource(welcome, "docs://welcome", host)).toEqual({
    kind: "completed",
    result: { contents: [{ uri: "docs://welcome", mimeType: "text/plain", text: "Hello" }] },
  });
});

test("bytes are read as base64", async () => {
  const png = defineResource({ uri: "a:png", name: "n", read: () => new Uint8Array([1, 2]) });
  expect(await readResource(png, "a:png", host)).toMatchObject({
    result: { contents: [{ uri: "a:png", blob: "AQI=" }] },
  });
});

test("a template hears its variables, decoded", async () => {
  expect(await readResource(weather, "weather://S%C3%A3o/today", host)).toMatchObject({
    result: { contents: [{ uri: "weather://S%C3%A3o/today", text: "São on today" }] },
  });
});

test.each(["weather://Atlantis/today", "weather://Paris"])(
  "%s is not found: -32602 with the URI",
  async (uri) => {
    expect(await readResource(weather, uri, host)).toEqual({
      kind: "failed",
      error: { code: -32602, message: "Resource not found", data: { uri } },
    });
  },
);

test.each([[[]], [[{ uri: "a:b" }]], [7]])("contents %j are refused", async (contents) => {
  const odd = defineResource({ uri: "a:b", name: "n", read: () => untyped(contents) });
  expect(await readResource(odd, "a:b", host)).toMatchObject({
    error: {
      code: -32603,
      message: expect.stringContaining("The resource's contents are not valid"),
    },
  });
});

test("a URI finds its own resource first, then the first template that makes it", () => {
  const own = defineResource({ uri: "weather://Paris/today", name: "n", read: () => "" });
  const catalog: Catalog = {
    tools: new Map(),
    prompts: new Map(),
    resources: new Map([["weather://Paris/today", own]]),
    resourceTemplates: new Map([["weather://{city}/{day}", weather]]),
  };
  expect(findResource(catalog, "weather://Paris/today")).toBe(own);
  expect(findResource(catalog, "weather://Rome/today")).toBe(weather);
  expect(findResource(catalog, "nowhere:")).toBeUndefined();
});

test("variables of a template can be completed", async () => {
  expect(await completeArgument(weather, { name: "city", value: "P" })).toMatchObject({
    result: { completion: { values: ["Paris"] } },
  });
});

test.each<[string, object]>([
  ["name must be given", { uri: "a:b", name: "" }],
  ["read must be a function", { uri: "a:b", read: 1 }],
  ["give uri or uriTemplate", {}],
  ["give uri or uriTemplate", { uri: "a:b", uriTemplate: "a:{b}" }],
  ["uri must be an absolute URI", { uri: "welcome" }],
  ["RFC 6570 level 1", { uriTemplate: "a:{+b}" }],
  ["complete.c is no variable", { uriTemplate: "a:{b}", complete: { c: () => [] } }],
])("a wrong resource is refused: %s", (problem, change) => {
  expect(() => defineResource(untyped({ name: "n", read: () => "", ...change }))).toThrow(problem);
});
