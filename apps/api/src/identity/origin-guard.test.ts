import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { createOriginGuard } from "./origin-guard.ts";
import type { HeaderValues, OriginGuardOptions } from "./origin-guard.ts";
import { portOf } from "./test-issuer.ts";

const guard = (over: Partial<OriginGuardOptions> = {}) =>
  createOriginGuard({ host: "127.0.0.1", allowedHosts: [], allowedOrigins: [], ...over });
const verdict = (host: HeaderValues, origin?: HeaderValues, over: Partial<OriginGuardOptions> = {}) =>
  guard(over).check(host, origin).verdict;

describe("a server on loopback, with nothing configured", () => {
  test.each([
    "localhost",
    "localhost:3000",
    "LOCALHOST:1",
    "127.0.0.1",
    "127.0.0.1:65535",
    "[::1]",
    "[::1]:3000",
  ])("serves the host %s", (host) => expect(verdict(host)).toBe("ok"));

  test.each([
    undefined,
    [],
    ["localhost", "localhost"],
    ["localhost", "evil.example"],
    "",
    "evil.example.com",
    "localhost.evil.example",
    "evil.example:3000",
    "localhost:",
    "localhost:99999",
    "localhost:3000:1",
    "localhost, evil.example",
    "user@localhost",
    "http://localhost",
    "localhost/",
    "localhost\u0000",
    " localhost",
    "::1",
    "[::1",
    "[::2]",
    "0.0.0.0",
    "127.0.0.2",
    "2130706433",
    "constructor",
    "a".repeat(300),
  ])("refuses the host %j", (host) => {
    const said = guard().check(host, undefined);
    expect(said).toMatchObject({ verdict: "refused", status: 403 });
  });

  test.each([
    undefined,
    [],
    "http://localhost",
    "http://localhost:5173",
    "https://127.0.0.1:8443",
    "http://[::1]:3000",
    "HTTP://LOCALHOST:5173",
  ])("serves the origin %j", (origin) => expect(verdict("localhost:3000", origin)).toBe("ok"));

  test.each([
    "",
    "null",
    "*",
    "http://evil.example.com",
    "http://localhost.evil.example",
    "http://evil.example#localhost",
    "http://localhost@evil.example",
    "http://evil.example\\@localhost",
    "http://localhost/",
    "http://localhost, http://localhost",
    "localhost",
    "file://",
    "chrome-extension://localhost",
    ["http://localhost", "http://localhost"],
    "x".repeat(1000),
  ])("refuses the origin %j", (origin) => expect(verdict("localhost:3000", origin)).toBe("refused"));

  test("refuses a good host with a bad origin and a bad host with a good origin, each with its sentence", () => {
    expect(guard().check("localhost", "http://evil.example")).toMatchObject({
      description: "The Origin header names an origin that is not allowed here",
    });
    expect(guard().check("evil.example", "http://localhost")).toMatchObject({
      description: "The Host header names a host that is not served here",
    });
  });
});

test("a server on another address of loopback serves that address too", () => {
  expect(verdict("127.0.0.2:3000", undefined, { host: "127.0.0.2" })).toBe("ok");
  expect(verdict("[::1]:3000", undefined, { host: "::1" })).toBe("ok");
});

test("a server that others can reach trusts no page by default, not even one on loopback", () => {
  expect(verdict("localhost:3000", undefined, { host: "0.0.0.0" })).toBe("ok");
  expect(verdict("localhost:3000", "http://localhost:3000", { host: "0.0.0.0" })).toBe("refused");
});

test("configured hosts replace the default; one with a port serves that port alone", () => {
  const allowedHosts = ["Tasks.Example", "api.example:8443", "[2001:db8::1]"];
  for (const host of ["tasks.example", "TASKS.example:1", "api.example:8443", "[2001:DB8::1]:3000"])
    expect(verdict(host, undefined, { allowedHosts })).toBe("ok");
  for (const host of ["localhost", "api.example", "api.example:8444", "x.tasks.example"])
    expect(verdict(host, undefined, { allowedHosts })).toBe("refused");
});

test("configured origins are compared with scheme and port, a scheme's own port being the same as none", () => {
  const over = { host: "0.0.0.0", allowedOrigins: ["https://App.example:443/", "vscode-webview://abc"] };
  for (const origin of ["https://app.example", "https://app.example:443", "vscode-webview://ABC"])
    expect(verdict("localhost", origin, over)).toBe("ok");
  for (const origin of [
    "http://app.example",
    "https://app.example:444",
    "https://x.app.example",
    "vscode-webview://abd",
  ])
    expect(verdict("localhost", origin, over)).toBe("refused");
});

test.each([
  ["allowedHosts", "*"],
  ["allowedHosts", "*.example.com"],
  ["allowedHosts", "https://example.com"],
  ["allowedHosts", ""],
  ["allowedOrigins", "*"],
  ["allowedOrigins", "https://*.example.com"],
  ["allowedOrigins", "null"],
  ["allowedOrigins", "app.example"],
  ["allowedOrigins", "https://app.example/path"],
] as const)("%s refuses the entry %j", (option, entry) => {
  expect(() => guard({ [option]: [entry] })).toThrow(expect.objectContaining({ code: "bad_option", option }));
});

test("a second Host header on a real connection is seen and refused", async () => {
  const seen: string[] = [];
  const server = createServer((req, res) => {
    seen.push(guard().check(req.headersDistinct["host"], req.headersDistinct["origin"]).verdict);
    res.end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  for (const hosts of ["Host: localhost", "Host: localhost\r\nHost: evil.example"]) {
    const socket = connect(portOf(server), "127.0.0.1");
    socket.write(`GET / HTTP/1.1\r\n${hosts}\r\nConnection: close\r\n\r\n`);
    socket.resume();
    await once(socket, "close");
  }
  expect(seen).toEqual(["ok", "refused"]);
  server.close();
});
