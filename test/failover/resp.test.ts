import { expect, test } from "vitest";
import { createSplitter, isMessage, isPush, valueEnd, wordsOf } from "./resp.ts";

const command = (...words: string[]): string =>
  `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`;

const VALUES = [
  "+OK\r\n",
  "-ERR no\r\n",
  ":42\r\n",
  "$-1\r\n",
  "$0\r\n\r\n",
  "$5\r\na\r\nb$\r\n",
  "*0\r\n",
  "*2\r\n*1\r\n:1\r\n$2\r\nab\r\n",
  "%1\r\n+key\r\n*1\r\n_\r\n",
  ">3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$4\r\nbody\r\n",
  "#t\r\n",
  ",1.5\r\n",
  command("EVALSHA", "sha", "2", "due", "record", "x".repeat(3000)),
];

test("values come out whole and in order, wherever the bytes were cut", () => {
  const bytes = Buffer.from(VALUES.join(""));
  for (let size = 1; size < 40; size += 1) {
    const values: string[] = [];
    const split = createSplitter((value) => values.push(value.toString()));
    for (let at = 0; at < bytes.length; at += size) split(bytes.subarray(at, at + size));
    expect(values).toEqual(VALUES);
  }
});

test("a value that has not come whole has no end yet", () => {
  expect(valueEnd(Buffer.from("*2\r\n:1\r\n"), 0)).toBe(-1);
  expect(() => valueEnd(Buffer.from("GET / HTTP/1.1\r\n"), 0)).toThrow("Not RESP");
});

test("a command is known by its first words, a message and a push by their form", () => {
  expect(wordsOf(Buffer.from(command("EVALSHA", "sha", "2", "due", "record")), 4)).toEqual([
    "EVALSHA",
    "sha",
    "2",
    "due",
  ]);
  const message = Buffer.from(">3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$4\r\nbody\r\n");
  expect([isMessage(message), isPush(message)]).toEqual([true, true]);
  const subscribed = Buffer.from(">3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n");
  expect([isMessage(subscribed), isPush(subscribed)]).toEqual([false, true]);
});
