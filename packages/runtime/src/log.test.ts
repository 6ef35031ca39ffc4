import { expect, test } from "vitest";
import { createLog } from "./log.ts";

function capture(level: "info" | "silent" = "info") {
  const lines: string[] = [];
  const log = createLog({ level, role: "worker", destination: { write: (line) => lines.push(line) } });
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? "{}") };
}

test("a line is one JSON object with time, level, role and what a child was bound to", () => {
  const { log, lines, last } = capture();
  log.child({ taskId: "t1" }).child({ tool: "report" }).info({ epoch: 2 }, "Claimed");
  expect(lines).toHaveLength(1);
  expect(last()).toMatchObject({
    level: "info",
    role: "worker",
    taskId: "t1",
    tool: "report",
    epoch: 2,
    msg: "Claimed",
  });
  expect(new Date(last().time).getTime()).toBeGreaterThan(0);
});

test("a level below the configured one is not written", () => {
  const { log, lines } = capture();
  log.debug({}, "no");
  capture("silent").log.fatal({}, "no");
  expect(lines).toEqual([]);
});

test("a token, arguments or parameters are not written even when a caller logs them", () => {
  const { log, lines } = capture();
  log.info({ authorization: "Bearer s3cret", token: "s3cret", params: { a: "s3cret" } }, "m");
  log.info({ request: { headers: { authorization: "s3cret" }, arguments: ["s3cret"] } }, "m");
  log.child({ token: "s3cret" }).info({}, "m");
  expect(lines.join("")).not.toContain("s3cret");
});

test("an error is written with its code, stack and causes, and without what else hangs on it", () => {
  const { log, lines, last } = capture();
  const reply = Object.assign(new Error("READONLY"), { command: { name: "hset", args: ["s3cret"] } });
  log.error({ err: Object.assign(new Error("store", { cause: reply }), { code: "store_readonly" }) }, "m");
  expect(last().err).toMatchObject({
    message: "store",
    code: "store_readonly",
    cause: { message: "READONLY" },
  });
  expect(last().err.stack).toContain("log.test.ts");
  expect(lines.join("")).not.toContain("s3cret");
  log.error({ err: "just text" }, "m");
  expect(last().err).toEqual({ message: "just text" });
});
