import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RawExchange } from "./raw-http.ts";
import { errorOf, messageText, requestBytes, startHostileBench } from "./replica-bench.ts";
import type { HostileBench, HostileRequest } from "./replica-bench.ts";

/* HTTP as nobody should send it, to a running replica: each gets a clear refusal, and the replica lives on unharmed. */

let bench: HostileBench;
/** Connections that say their piece so slowly that it never ends; begun at once, looked at last. */
let slow: {
  readonly headers: readonly Promise<RawExchange>[];
  readonly bodies: readonly Promise<RawExchange>[];
};

beforeAll(async () => {
  bench = await startHostileBench();
  const whole = bytesOf().toString("latin1");
  const head = whole.slice(0, whole.indexOf("\r\n\r\n") + 4);
  const start = (first: string, rest: string): Promise<RawExchange> =>
    bench.raw({ chunks: [first, ...Array.from({ length: 60 }, () => rest)], gapMs: 1000, timeoutMs: 45_000 });
  slow = {
    headers: Array.from({ length: 40 }, () => start("POST /mcp HTTP/1.1\r\n", "x")),
    bodies: Array.from({ length: 40 }, () => start(head, " ")),
  };
});
afterAll(() => bench?.[Symbol.asyncDispose]());

function bytesOf(request: HostileRequest = {}): Buffer {
  return requestBytes({ ...request, port: bench.port, authorization: bench.authorization });
}

const JSON_TYPE = "application/json";
const text = messageText("tools/list", {});

const REFUSED: readonly {
  readonly what: string;
  readonly request: HostileRequest;
  readonly status: number;
  readonly code?: number;
}[] = [
  { what: "a GET", request: { line: "GET /mcp HTTP/1.1" }, status: 405 },
  { what: "a method that nobody knows", request: { line: "PROPFIND /mcp HTTP/1.1" }, status: 405 },
  { what: "no content type", request: { headers: { "content-type": undefined } }, status: 415 },
  {
    what: "a form",
    request: { headers: { "content-type": "application/x-www-form-urlencoded" } },
    status: 415,
  },
  { what: "JSON lines", request: { headers: { "content-type": "application/jsonl" } }, status: 415 },
  {
    what: "another charset",
    request: { headers: { "content-type": `${JSON_TYPE}; charset=utf-16` } },
    status: 415,
  },
  {
    what: "two content types",
    request: { headers: { "content-type": [JSON_TYPE, JSON_TYPE] } },
    status: 415,
  },
  {
    what: "types in one line",
    request: { headers: { "content-type": `${JSON_TYPE}, text/plain` } },
    status: 415,
  },
  { what: "gzip", request: { headers: { "content-encoding": "gzip" } }, status: 415 },
  {
    what: "gzip after identity",
    request: { headers: { "content-encoding": ["identity", "gzip"] } },
    status: 415,
  },
  { what: "an Accept of pictures alone", request: { headers: { accept: "image/png" } }, status: 406 },
  { what: "a foreign Origin", request: { headers: { origin: "https://evil.example" } }, status: 403 },
  { what: "the Origin null", request: { headers: { origin: "null" } }, status: 403 },
  { what: "a foreign Host", request: { headers: { host: "evil.example" } }, status: 403 },
  {
    what: "a Host that begins like ours",
    request: { headers: { host: "127.0.0.1.evil.example" } },
    status: 403,
  },
  { what: "a Host with a user in it", request: { headers: { host: "127.0.0.1@evil.example" } }, status: 403 },
  { what: "an empty Host", request: { headers: { host: "" } }, status: 403 },
  { what: "no token", request: { headers: { authorization: undefined } }, status: 401 },
  { what: "a basic password", request: { headers: { authorization: "Basic YTpi" } }, status: 401 },
  {
    what: "two Authorization headers",
    request: { headers: { authorization: ["Bearer a.b.c", "Bearer a.b.c"] } },
    status: 400,
  },
  {
    what: "no version header",
    request: { headers: { "mcp-protocol-version": undefined } },
    status: 400,
    code: -32020,
  },
  {
    what: "two version headers",
    request: { headers: { "mcp-protocol-version": ["2026-07-28", "2026-07-28"] } },
    status: 400,
    code: -32020,
  },
  {
    what: "another version than the body's",
    request: { headers: { "mcp-protocol-version": "2025-11-25" } },
    status: 400,
    code: -32020,
  },
  { what: "no method header", request: { headers: { "mcp-method": undefined } }, status: 400, code: -32020 },
  {
    what: "another method than the body's",
    request: { headers: { "mcp-method": "tools/call" } },
    status: 400,
    code: -32020,
  },
  {
    what: "the method in capitals",
    request: { headers: { "mcp-method": "TOOLS/LIST" } },
    status: 400,
    code: -32020,
  },
  {
    what: "two method headers",
    request: { headers: { "mcp-method": ["tools/list", "tools/list"] } },
    status: 400,
    code: -32020,
  },
  {
    what: "a method header that is no ASCII",
    request: { headers: { "mcp-method": "tools/list\xa0" } },
    status: 400,
    code: -32020,
  },
  {
    what: "another name than the body's",
    request: { method: "tools/call", params: { name: "greet" }, headers: { "mcp-name": "about" } },
    status: 400,
    code: -32020,
  },
  {
    what: "a name in broken Base64",
    request: {
      method: "tools/call",
      params: { name: "greet" },
      headers: { "mcp-name": "=?base64?Z3JlZXQ?=" },
    },
    status: 400,
    code: -32020,
  },
  {
    what: "no name",
    request: { method: "tools/call", params: { name: "greet" }, headers: { "mcp-name": undefined } },
    status: 400,
    code: -32020,
  },
  { what: "an empty body", request: { body: "" }, status: 400, code: -32700 },
  { what: "half a message", request: { body: text.slice(0, -9) }, status: 400, code: -32700 },
  {
    what: "bytes that are no UTF-8",
    request: { body: Buffer.from([0x22, 0xff, 0xfe, 0x22]) },
    status: 400,
    code: -32700,
  },
  { what: "UTF-16", request: { body: Buffer.from(text, "utf16le") }, status: 400, code: -32700 },
  { what: "a body over 1 MiB", request: { body: `"${"x".repeat(1_100_000)}"` }, status: 413 },
  { what: "a body of 3 MiB", request: { body: " ".repeat(3 << 20) }, status: 413 },
  {
    what: "a length of a terabyte",
    request: { body: "{", headers: { "content-length": "1000000000000" } },
    status: 413,
  },
];

test.each(REFUSED)(
  "$what is refused with $status and a JSON-RPC error",
  async ({ request, status, code }) => {
    const response = await bench.send(request);
    expect({ status: response.status, body: response.body }).toMatchObject({ status });
    const error = errorOf(response);
    expect(code ?? error.code).toBe(error.code);
    expect(response.headers.get("content-type")).toBe(JSON_TYPE);
  },
);

test.each([
  [
    "spaces and tabs around values",
    { "mcp-method": " \t tools/list \t ", "mcp-protocol-version": "  2026-07-28\t" },
  ],
  ["names in capitals", { "mcp-method": undefined, "MCP-METHOD": "tools/list" }],
  ["an encoding that changes nothing", { "content-encoding": "identity" }],
  ["a charset in quotes", { "content-type": 'application/json;charset="UTF-8"' }],
  ["an unknown header of 20 KB", { "x-long": "x".repeat(20_000) }],
])("%s do no harm", async (_what, headers) => {
  expect((await bench.send({ headers })).status).toBe(200);
});

describe("what is no HTTP request gets a bare refusal and a closed connection", () => {
  const chunkedTail = `\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
  const head = (lines: readonly string[]): string =>
    ["POST /mcp HTTP/1.1", `host: 127.0.0.1:${bench.port}`, `authorization: ${bench.authorization}`]
      .concat([
        "content-type: application/json",
        "mcp-protocol-version: 2026-07-28",
        "mcp-method: tools/list",
      ])
      .concat(lines)
      .join("\r\n");
  const smuggled = (): string => `GET /mcp HTTP/1.1\r\nhost: 127.0.0.1:${bench.port}\r\n\r\n`;

  test.each<[string, number, () => string]>([
    [
      "length and chunks",
      400,
      () => head(["content-length: 6", "transfer-encoding: chunked"]) + chunkedTail + smuggled(),
    ],
    [
      "chunks and length",
      400,
      () => head(["transfer-encoding: chunked", "content-length: 6"]) + chunkedTail + smuggled(),
    ],
    [
      "two lengths",
      400,
      () => `${head(["content-length: 5", "content-length: 6"])}\r\n\r\n123456${smuggled()}`,
    ],
    ["two lengths in one line", 400, () => `${head(["content-length: 5, 6"])}\r\n\r\n123456${smuggled()}`],
    ["a signed length", 400, () => `${head(["content-length: +5"])}\r\n\r\n12345${smuggled()}`],
    ["a coding that is not chunked", 400, () => `${head(["transfer-encoding: xchunked"])}${chunkedTail}`],
    [
      "chunked, and then something else",
      400,
      () => `${head(["transfer-encoding: chunked, identity"])}${chunkedTail}`,
    ],
    ["a space before the colon", 400, () => `${head(["transfer-encoding : chunked"])}${chunkedTail}`],
    ["a folded header", 400, () => `${head(["transfer-encoding:", " chunked"])}${chunkedTail}`],
    [
      "a bare line feed in a header",
      400,
      () => `${head(["x-a: b\ntransfer-encoding: chunked"])}${chunkedTail}`,
    ],
    ["a zero byte in a header", 400, () => `${head(["x-a: b\0c"])}\r\n\r\n`],
    ["a chunk size that is none", 400, () => `${head(["transfer-encoding: chunked"])}\r\n\r\n-1\r\n${text}`],
    ["no Host", 400, () => `POST /mcp HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}`],
    ["HTTP/2 out of the blue", 400, () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["TLS", 400, () => "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"],
    ["headers of 40 KB", 431, () => `${head([`x-long: ${"x".repeat(40_000)}`])}\r\n\r\n`],
    ["10,000 headers", 431, () => `${head(Array.from({ length: 10_000 }, () => "x-a: b"))}\r\n\r\n`],
  ])("%s: %d", async (_what, status, bytes) => {
    const answer = await bench.raw({ chunks: [bytes()], isEnough: () => false, timeoutMs: 5000 });
    expect(answer.responses.map((response) => response.status)).toEqual([status]);
    expect(answer.isClosed).toBe(true);
  });
});

test("a header is not hidden from the checks by hundreds of others before it", async () => {
  const headers = { a: Array.from({ length: 700 }, () => ""), "MCP-METHOD": "tools/call" };
  const response = await bench.send({ headers });
  expect(response.status).toBe(400);
  expect(errorOf(response).code).toBe(-32020);
});

test("only the path /mcp is the endpoint, however another is written", async () => {
  const host = `127.0.0.1:${bench.port}`;
  for (const path of [
    "/mcp/",
    "//mcp",
    "/MCP",
    "/%6dcp",
    "/x/../mcp",
    "/mcp;a",
    `http://${host}/x`,
    "/%ff",
    "/\xff",
    "*",
  ]) {
    const response = await bench.send({ line: `POST ${path} HTTP/1.1` });
    expect({ path, status: response.status }).toEqual({ path, status: expect.toBeOneOf([400, 404]) });
    expect(response.body.length).toBeLessThan(200);
  }
  expect((await bench.send({ line: "POST /mcp?a=b&__proto__=c HTTP/1.1" })).status).toBe(200);
});

test("an absolute URL of another host is not served", async () => {
  for (const target of ["http://evil.example/mcp", `http://127.0.0.1:${bench.port}@evil.example/mcp`]) {
    const response = await bench.send({ line: `POST ${target} HTTP/1.1` });
    expect({ target, status: response.status }).toEqual({
      target,
      status: expect.toBeOneOf([400, 403, 404]),
    });
  }
});

test("requests that come at once over one connection are answered in their order, each with its own id", async () => {
  const ids = Array.from({ length: 200 }, (_, n) => `p${n}`);
  const requests = ids.map((id, n) =>
    n % 3 === 2
      ? bytesOf({
          method: "tools/call",
          params: { name: "x" },
          body: messageText("tools/call", { name: "x" }, id),
        })
      : bytesOf({ body: messageText("tools/list", {}, id) }),
  );
  const { responses } = await bench.raw({
    chunks: [Buffer.concat(requests)],
    isEnough: ({ responses }) => responses.length === ids.length,
    timeoutMs: 20_000,
  });
  expect(responses.map(({ body }) => JSON.parse(body).id)).toEqual(ids);
});

test("garbage behind a call in hand ends that connection, and the replica lives on", async () => {
  const slowCall = bytesOf({ method: "tools/call", params: { name: "brief_call", arguments: {} } });
  const answers = await Promise.all(
    ["\0\0\0\r\n\r\n", "GET", "POST /mcp HTTP/1.1\r\ncontent-length: x\r\n\r\n"].map((garbage) =>
      bench.raw({ chunks: [slowCall, garbage], gapMs: 50, timeoutMs: 3000 }),
    ),
  );
  for (const { responses } of answers)
    for (const { status } of responses) expect(status).toBeOneOf([200, 400]);
  expect(await bench.harm()).toEqual([]);
});

test("a client that asks and hangs up in the middle, a thousand times, leaves nothing behind", async () => {
  const whole = bytesOf({ method: "tools/call", params: { name: "brief_call", arguments: {} } });
  for (let round = 0; round < 20; round += 1) {
    await Promise.all(
      Array.from({ length: 50 }, (_, n) => {
        const cut = Math.floor((whole.length * (n + 1)) / 50);
        return bench.raw({ chunks: [whole.subarray(0, cut)], timeoutMs: 10 });
      }),
    );
  }
  expect(await bench.harm()).toEqual([]);
});

test("a client that sends without an end is cut off", async () => {
  const head = bytesOf({
    body: "",
    headers: { "content-length": undefined, "transfer-encoding": "chunked" },
  });
  const chunk = `10000\r\n${" ".repeat(65_536)}\r\n`;
  function* endless(): Generator<string | Buffer> {
    yield head;
    for (let n = 0; n < 4096; n += 1) yield chunk;
  }
  const { responses } = await bench.raw({ chunks: endless(), gapMs: 1, timeoutMs: 20_000 });
  expect(responses.map(({ status }) => status)).toEqual([413]);
  expect(await bench.harm()).toEqual([]);
});

test("80 connections that trickle their headers or bodies are ended with 408, and others are served meanwhile", async () => {
  const startedMs = performance.now();
  expect((await bench.send()).status).toBe(200);
  expect(performance.now() - startedMs).toBeLessThan(5000);
  for (const answer of await Promise.all([...slow.headers, ...slow.bodies])) {
    expect(answer.responses.map(({ status }) => status)).toEqual([408]);
    expect(answer.ms).toBeLessThan(42_000);
  }
  expect(await bench.harm()).toEqual([]);
}, 60_000);
