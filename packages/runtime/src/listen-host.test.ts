import { expect, test } from "vitest";
import { bareHost, isLoopback, urlHost } from "./listen-host.ts";

test.each([
  { host: "127.0.0.1", bare: "127.0.0.1", inUrl: "127.0.0.1", loopback: true },
  { host: "::1", bare: "::1", inUrl: "[::1]", loopback: true },
  { host: "[::1]", bare: "::1", inUrl: "[::1]", loopback: true },
  { host: "LOCALHOST", bare: "LOCALHOST", inUrl: "LOCALHOST", loopback: true },
  { host: "127.999.0.1", bare: "127.999.0.1", inUrl: "127.999.0.1", loopback: false },
  { host: "0.0.0.0", bare: "0.0.0.0", inUrl: "0.0.0.0", loopback: false },
  { host: "::", bare: "::", inUrl: "[::]", loopback: false },
  { host: "localhost.example", bare: "localhost.example", inUrl: "localhost.example", loopback: false },
])("$host is $bare for a socket, $inUrl in a URL, and loopback: $loopback", ({ host, ...expected }) => {
  expect({ bare: bareHost(host), inUrl: urlHost(host), loopback: isLoopback(host) }).toEqual(expected);
});
