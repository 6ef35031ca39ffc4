import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { SCRIPT_NAMES, loadScripts } from "./scripts.ts";

const LUA = new URL("../lua/", import.meta.url);
const files = readdirSync(LUA, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".lua"));
const scripts = files.filter((name) => !name.startsWith("prelude"));

test("every script is loaded, and unpacks just what its caller must give", () => {
  expect(() => loadScripts({ call: () => Promise.reject(new Error("not called")) })).not.toThrow();
  expect(scripts.toSorted()).toEqual(SCRIPT_NAMES.map((name) => `${name}.lua`).toSorted());
});

test.each(files)("%s has at most 80 lines", (name) => {
  expect(read(name).split("\n").length - 1).toBeLessThanOrEqual(80);
});

describe.each(scripts)("%s", (name) => {
  test("says its keys, arguments and replies by name", () => {
    expect(read(name)).toMatch(/^ {2}KEYS {3}\w/m);
    expect(read(name)).toMatch(/^ {2}ARGV {3}\w/m);
    expect(read(name)).toMatch(/^ {2}Reply {2}\w/m);
  });

  test("replies in words, never in numbers", () => {
    const replies = [...read(name).matchAll(/\breturn (.+)$/gm)].map(([, reply]) => reply);
    expect(replies.filter((reply) => /^-?\d/.test(reply ?? ""))).toEqual([]);
  });
});

function read(name: string): string {
  return readFileSync(new URL(name, LUA), "utf8");
}
