import { parseConfig } from "@perdure/runtime";
import { expect, test } from "vitest";
import { DEV_ISSUER } from "./issuer/dev-issuer.ts";
import { createProgram } from "./program.ts";

const screen = { env: {}, out: process.stdout, err: process.stderr, input: process.stdin };

test("npm start asks for no port twice: the replica, the two ops ports and the issuer each have their own", () => {
  const { port, opsPort } = parseConfig({});
  const up = createProgram(screen).commands.find((command) => command.name() === "up");
  const { issuerPort } = up?.opts<{ issuerPort: number }>() ?? {};
  const ports = [port, opsPort, opsPort + 1, issuerPort];
  expect(new Set(ports).size).toBe(ports.length);
  expect(new URL(DEV_ISSUER).port).toBe(String(issuerPort));
});
