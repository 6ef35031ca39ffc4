import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { pageOf, type Paging } from "./cursor.ts";
import { refusalOf } from "./refusal-of.ts";

function page(items: readonly string[], cursor?: string, more: Partial<Paging<string>> = {}) {
  return pageOf({ method: "tools/list", items, nameOf: (name) => name, pageSize: 2, cursor, ...more });
}

const json = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

describe("pageOf", () => {
  test("page by page, each item is shown once, in the order of names", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.string({ unit: "binary", maxLength: 40 }), { maxLength: 30 }),
        (names) => {
          const seen: string[] = [];
          let cursor: string | undefined;
          do {
            const { items, nextCursor } = page(names, cursor, { pageSize: 3 });
            seen.push(...items);
            cursor = nextCursor;
          } while (cursor !== undefined);
          expect(seen).toStrictEqual([...names].sort());
        },
      ),
    );
  });

  test("the last page, the only page and an empty list have no cursor", () => {
    expect(page([])).toStrictEqual({ items: [] });
    expect(page(["b", "a"])).toStrictEqual({ items: ["a", "b"] });
  });

  test("a cursor stays good when the list changes in between, and shows nothing twice", () => {
    const { nextCursor } = page(["a", "b", "d"]);
    expect(page(["b", "c", "d", "e"], nextCursor).items).toStrictEqual(["c", "d"]);
    expect(page(["a", "aa"], nextCursor)).toStrictEqual({ items: [] });
  });

  test("anything that is not a cursor of this list is refused with -32602", () => {
    const { nextCursor } = page(["a", "b", "c"]);
    const other = page(["a", "b", "c"], undefined, { method: "prompts/list" }).nextCursor;
    const garbage = [
      "",
      "x",
      "{}",
      `${nextCursor}=`,
      ` ${nextCursor}`,
      json([]),
      json(["tools/list", 5]),
      json({}),
      other,
    ];
    for (const cursor of [...garbage, "A".repeat(1_000_000), json(["tools/list", "b", "c"])]) {
      expect(refusalOf(() => page(["a", "b", "c"], cursor))).toMatchObject({
        rpcCode: -32602,
        httpStatus: 200,
        message: "Invalid params: params.cursor: not a cursor of this list",
      });
    }
  });
});
