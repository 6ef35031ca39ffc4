import { expect, test } from "vitest";
import { bareHost, isLoopback, urlHost } from "./listen-host.ts";

test.each([
  ["127.0.0.1", "127.0.0.1", "127.0.0.1", true],
  ["::1", "::1", "[::1]", true],
  ["[::1]", "::1", "[::1]", true],
  ["LOCALHOST", "LOCALHOST", "LOCALHOST", true],
  ["127.999.0.1", "127.999.0.1", "127.999.0.1", false],
  ["0.0.0.0", "0.0.0.0", "0.0.0.0", false],
  ["::", "::", "[::]", false],
  ["localhost.example", "localhost.example", "localhost.example", false],
])("%s is %s for a socket, %s in a URL, and loopback: %s", (host, bare, inUrl, loopback) => {
  expect([bareHost(host), urlHost(host), isLoopback(host)]).toEqual([bare, inUrl, loopback]);
});
