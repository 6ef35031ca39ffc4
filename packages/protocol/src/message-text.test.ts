import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  SSE_KEEP_ALIVE,
  errorText,
  notificationText,
  resultText,
  sseEvent,
  withMember,
} from "./message-text.ts";
import { wireErrors } from "./wire-error.ts";

const json = fc.jsonValue({ stringUnit: "binary" }).map((value) => JSON.stringify({ value }));
const id = fc.oneof(fc.integer(), fc.string({ unit: "binary" }));

describe("message texts", () => {
  test("hold the spliced JSON as it is, under whatever id", () => {
    fc.assert(
      fc.property(id, json, (id, text) => {
        expect(JSON.parse(resultText(id, text))).toStrictEqual({
          jsonrpc: "2.0",
          id,
          result: JSON.parse(text),
        });
        expect(resultText(id, text)).toContain(text);
      }),
    );
    expect(resultText(1, '{"n":12345678901234567890,"f":1.0,"l":[]}')).toContain(
      '{"n":12345678901234567890,"f":1.0,"l":[]}',
    );
  });

  test("an error has its code, its message and only the data it has", () => {
    expect(errorText("a", wireErrors.invalidParams("No"))).toBe(
      '{"jsonrpc":"2.0","id":"a","error":{"code":-32602,"message":"No"}}',
    );
    expect(errorText(0, wireErrors.unsupportedVersion("1"))).toBe(
      '{"jsonrpc":"2.0","id":0,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"1"}}}',
    );
  });

  test("an error without a readable id has no id member, not null", () => {
    expect(JSON.parse(errorText(undefined, wireErrors.parseError("No")))).toStrictEqual({
      jsonrpc: "2.0",
      error: { code: -32700, message: "No" },
    });
  });

  test("a notification has no id", () => {
    expect(notificationText("notifications/tasks", '{"a":1}')).toBe(
      '{"jsonrpc":"2.0","method":"notifications/tasks","params":{"a":1}}',
    );
  });

  test("an SSE event is read back as the text it carries", () => {
    fc.assert(
      fc.property(json, fc.constantFrom(0, 2, "\t"), (text, indent) => {
        const pretty = JSON.stringify(JSON.parse(text), null, indent);
        expect(readEvents(sseEvent(pretty))).toStrictEqual([pretty]);
      }),
    );
    expect(readEvents(sseEvent('{\r\n"a":1\r}'))).toStrictEqual(['{\n"a":1\n}']);
    expect(readEvents(sseEvent("1") + SSE_KEEP_ALIVE + sseEvent("2"))).toStrictEqual(["1", "2"]);
  });

  test("a member is put in front of the others, or alone into an empty object", () => {
    expect(withMember("{}", "a", "[]")).toBe('{"a":[]}');
    expect(withMember(" { }", "a", "[]")).toBe('{"a":[]}');
    expect(withMember('{"b":1.0}', "_meta", '{"x":1}')).toBe('{"_meta":{"x":1},"b":1.0}');
  });
});

/** A reader by the letter of the SSE specification: lines, `data:` joined by line feeds, a blank line ends an event. */
function readEvents(stream: string): string[] {
  const events: string[] = [];
  let data: string[] = [];
  for (const line of stream.split(/\r\n|\r|\n/)) {
    if (line.startsWith("data: ")) data.push(line.slice(6));
    else if (line === "" && data.length > 0) {
      events.push(data.join("\n"));
      data = [];
    }
  }
  return events;
}
