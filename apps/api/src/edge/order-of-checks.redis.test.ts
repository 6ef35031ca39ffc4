import { connect } from "node:net";
import { createRedisTasks } from "@perdure/redis";
import type { RedisTasks } from "@perdure/redis";
import { startRedis } from "@perdure/testkit";
import type { RunningRedis } from "@perdure/testkit";
import { defineTool } from "@perdure/toolkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { startReplica } from "../bench-replica.ts";
import type { BenchReplica } from "../bench-replica.ts";
import { TASKS, call, metaOf } from "../mcp-bench.ts";
import type { Ask } from "../mcp-bench.ts";

const OFFERS = [
  defineTool({
    name: "plain",
    description: "Says hello",
    input: z.object({ n: z.int().optional() }),
    run: () => "hello",
  }),
  defineTool({ name: "scoped", description: "Wants a scope", scopes: ["admin"], run: () => "admin" }),
  defineTool({ name: "task", description: "A task", taskSupport: "required", run: () => "done" }),
  defineTool({ name: "asker", description: "Needs a person", needs: ["elicitation"], run: () => "asked" }),
  defineTool({
    name: "regional",
    description: "Mirrors its region",
    input: z.object({ region: z.string().meta({ "x-mcp-header": "Region" }) }),
    scopes: ["admin"],
    run: () => "there",
  }),
  defineTool({
    name: "broken",
    description: "Throws",
    retry: { attempts: 1 },
    run() {
      throw new Error("secret detail");
    },
  }),
  defineTool({ name: "huge", description: "Returns too much", run: () => "x".repeat(70_000) }),
];

let redis: RunningRedis;
let tasks: RedisTasks;
let replica: BenchReplica;
let url: string;

beforeAll(async () => {
  redis = await startRedis();
  tasks = createRedisTasks({ redisUrl: redis.url, leaseMs: 10_000, durability: "ephemeral" });
  await tasks.start();
  await tasks.hints.start();
  replica = await startReplica(tasks, OFFERS);
  ({ url } = replica);
});
afterAll(async () => {
  await replica.api.stop();
  await tasks.stop();
  await redis.stop();
});

const tool = (name: string, args: object = {}): Pick<Ask, "params"> => ({
  params: { name, arguments: args },
});

describe("1: method, Host, Origin, Authorization", () => {
  test.each(["GET", "DELETE", "PUT", "OPTIONS"])("%s is 405 with Allow", async (httpMethod) => {
    const { status, headers, message } = await call(url, "server/discover", { httpMethod, as: "none" });
    expect([status, headers.allow, message.error.code]).toEqual([405, "POST", -32600]);
    expect(message).not.toHaveProperty("id");
  });

  test.each([{ host: "evil.example.com" }, { origin: "http://evil.example.com" }, { origin: "null" }])(
    "%j is 403, before the token is looked at",
    async (headers) => {
      const { status, message } = await call(url, "server/discover", { headers, as: "none" });
      expect([status, message.error.code]).toEqual([403, -32600]);
    },
  );

  test("no token is 401 with the challenge, before the body is looked at", async () => {
    const { status, headers, message } = await call(url, "server/discover", { as: "none", body: "{" });
    expect([status, message.error.code]).toEqual([401, -32600]);
    expect(headers["www-authenticate"]).toContain("resource_metadata=");
  });

  test("a page of an allowed origin may ask and may read", async () => {
    const origin = "http://localhost:5173";
    const preflight = await call(url, "server/discover", {
      httpMethod: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "mcp-method",
      },
    });
    expect([preflight.status, preflight.text]).toEqual([204, ""]);
    expect(preflight.headers).toMatchObject({
      "access-control-allow-origin": origin,
      "access-control-allow-headers": "mcp-method",
    });
    const answer = await call(url, "server/discover", { headers: { origin } });
    expect(answer.headers["access-control-allow-origin"]).toBe(origin);
  });
});

describe("2: the body", () => {
  test.each([undefined, "text/plain", "application/json; charset=latin1"])(
    "content type %s is 415",
    async (type) => {
      const { status, message } = await call(url, "server/discover", { headers: { "content-type": type } });
      expect([status, message.error.code]).toEqual([415, -32600]);
    },
  );

  test("a compressed body is 415", async () => {
    const { status } = await call(url, "server/discover", { headers: { "content-encoding": "gzip" } });
    expect(status).toBe(415);
  });

  test("an Accept that takes neither form is 406", async () => {
    const { status } = await call(url, "server/discover", { headers: { accept: "text/html" } });
    expect(status).toBe(406);
  });

  test.each([65_537, 200_000, 400_000])("a body of %i bytes is 413", async (bytes) => {
    const { status, message } = await call(url, "server/discover", { body: " ".repeat(bytes) });
    expect([status, message.error.code]).toEqual([413, -32600]);
  });

  test.each(["", "{", "nul", Buffer.from([0x22, 0xff, 0x22])])("%j is no JSON: -32700, 400", async (body) => {
    const { status, message } = await call(url, "server/discover", { body });
    expect([status, message.error.code]).toEqual([400, -32700]);
    expect(message).not.toHaveProperty("id");
  });

  test.each([
    ["a batch", "[]"],
    ["a null id", '{"jsonrpc":"2.0","id":null,"method":"server/discover"}'],
    ["a fractional id", '{"jsonrpc":"2.0","id":1.5,"method":"server/discover"}'],
    ["a response", '{"jsonrpc":"2.0","id":1,"result":{}}'],
    ["another version", '{"jsonrpc":"1.0","id":7,"method":"server/discover"}'],
    ["params that are a list", '{"jsonrpc":"2.0","id":7,"method":"server/discover","params":[]}'],
    ["100 levels", "[".repeat(100) + "]".repeat(100)],
    ["30,000 values", `[${"0,".repeat(30_000)}0]`],
  ])("%s is -32600, 400", async (_, body) => {
    const { status, message } = await call(url, "server/discover", { body });
    expect([status, message.error.code]).toEqual([400, -32600]);
  });

  test("a bad message whose id could be read is answered with it", async () => {
    const { message } = await call(url, "x", { body: '{"jsonrpc":"2.0","id":"a","method":7}' });
    expect(message).toMatchObject({ id: "a", error: { code: -32600 } });
  });
});

test.each(["notifications/cancelled", "notifications/whatever", "tools/call"])(
  "3: %s without an id is 202 with no body, whatever its headers say",
  async (method) => {
    const { status, text } = await call(url, method, {
      body: JSON.stringify({ jsonrpc: "2.0", method, params: { requestId: 1 } }),
      headers: { "mcp-method": undefined, "mcp-protocol-version": undefined },
    });
    expect([status, text]).toEqual([202, ""]);
  },
);

describe("4: _meta and the version", () => {
  const META = metaOf();

  test.each([
    ["no _meta", undefined],
    ["a _meta that is a list", []],
    ["no version", { ...META, "io.modelcontextprotocol/protocolVersion": undefined }],
    ["a version that is a number", { ...META, "io.modelcontextprotocol/protocolVersion": 1 }],
    ["no capabilities", { ...META, "io.modelcontextprotocol/clientCapabilities": undefined }],
    ["capabilities that are a list", { ...META, "io.modelcontextprotocol/clientCapabilities": [] }],
    ["a log level that there is not", { ...META, "io.modelcontextprotocol/logLevel": "loud" }],
    ["a progress token that is null", { ...META, progressToken: null }],
  ])("%s is -32602, 400", async (_, meta) => {
    const { status, message } = await call(url, "server/discover", { body: discoverWith(meta) });
    expect([status, message.id, message.error.code]).toEqual([400, 9, -32602]);
  });

  test("a header that says another version than the body is -32020, 400", async () => {
    const { status, message } = await call(url, "server/discover", {
      headers: { "mcp-protocol-version": "2025-11-25" },
    });
    expect([status, message.error.code]).toEqual([400, -32020]);
  });

  test("a version that we do not speak is -32022, 400, with what we speak and what was asked", async () => {
    const version = "1999-01-01";
    const { status, message } = await call(url, "server/discover", {
      headers: { "mcp-protocol-version": version },
      meta: { "io.modelcontextprotocol/protocolVersion": version },
    });
    expect([status, message.error.code, message.error.data]).toEqual([
      400,
      -32022,
      { supported: ["2026-07-28"], requested: version },
    ]);
  });
});

describe("5: routing and parameter headers", () => {
  test.each([
    ["Mcp-Method missing", { "mcp-method": undefined }],
    ["Mcp-Method of another method", { "mcp-method": "tools/list" }],
    ["Mcp-Method in capitals", { "mcp-method": "TOOLS/CALL" }],
    ["Mcp-Name missing", { "mcp-name": undefined }],
    ["Mcp-Name of another tool", { "mcp-name": "task" }],
    ["Mcp-Name of bad Base64", { "mcp-name": "=?base64?!!!?=" }],
  ])("%s is -32020, 400", async (_, headers) => {
    const { status, message } = await call(url, "tools/call", { ...tool("plain"), headers });
    expect([status, message.id, message.error.code]).toEqual([400, 1, -32020]);
  });

  test("Mcp-Name may come in Base64 and with spaces around it", async () => {
    for (const name of ["=?base64?cGxhaW4=?=", "  plain  "]) {
      const { status, message } = await call(url, "tools/call", {
        ...tool("plain"),
        headers: { "mcp-name": name },
      });
      expect([status, message.result?.isError]).toEqual([200, undefined]);
    }
  });

  test("a mirrored parameter without its header is -32020, 400, before the scope is looked at", async () => {
    const { status, message } = await call(url, "tools/call", tool("regional", { region: "eu" }));
    expect([status, message.error.code]).toEqual([400, -32020]);
    const other = await call(url, "tools/call", {
      ...tool("regional", { region: "eu" }),
      headers: { "mcp-param-region": "us" },
    });
    expect([other.status, other.message.error.code]).toEqual([400, -32020]);
    const same = await call(url, "tools/call", {
      ...tool("regional", { region: "eu" }),
      headers: { "mcp-param-region": "eu" },
      as: "acme/alice/admin",
    });
    expect(same.message.result.content[0].text).toBe("there");
  });

  test("a tasks method without its task's name is -32020, 400", async () => {
    const { status, message } = await call(url, "tasks/get", {
      params: { taskId: "x" },
      headers: { "mcp-name": "y" },
      capabilities: TASKS,
    });
    expect([status, message.error.code]).toEqual([400, -32020]);
  });
});

test.each([
  "initialize",
  "ping",
  "tasks/list",
  "tasks/result",
  "tasks/status",
  "logging/setLevel",
  "constructor",
  "__proto__",
])("6: %s is -32601, 404", async (method) => {
  const { status, message } = await call(url, method, { capabilities: TASKS });
  expect([status, message.id, message.error.code]).toEqual([404, 1, -32601]);
});

describe("7: capability and scope", () => {
  test.each([
    ["tasks/get", { taskId: 5 }],
    ["tasks/update", {}],
    ["tasks/cancel", { taskId: "x" }],
    ["subscriptions/listen", { notifications: { taskIds: [] } }],
    ["tools/call", { name: "task" }],
  ])("%s without the extension is -32021, 400, with what is required", async (method, params) => {
    const { status, message } = await call(url, method, {
      params,
      headers: { "mcp-name": "x", ...nameHeader(params) },
    });
    expect([status, message.error.code, message.error.data]).toEqual([
      400,
      -32021,
      { requiredCapabilities: TASKS },
    ]);
  });

  test("what a tool needs is -32021, 400", async () => {
    const { status, message } = await call(url, "tools/call", tool("asker"));
    expect([status, message.error.code, message.error.data]).toEqual([
      400,
      -32021,
      { requiredCapabilities: { elicitation: {} } },
    ]);
  });

  test("a scope that the token lacks is 403 with the challenge, and the tool is not in the list", async () => {
    const { status, headers, message } = await call(url, "tools/call", tool("scoped"));
    expect([status, message.id, message.error.code]).toEqual([403, 1, -32600]);
    expect(headers["www-authenticate"]).toBe('Bearer error="insufficient_scope", scope="admin"');
    const names = async (as: string): Promise<unknown> => {
      const list = await call(url, "tools/list", { as });
      expect(list.message.result.cacheScope).toBe("private");
      return list.message.result.tools.map(({ name }: { name: string }) => name);
    };
    expect(await names("acme/alice")).not.toContain("scoped");
    expect(await names("acme/alice/admin")).toContain("scoped");
  });

  test("too many calls at once are 429 with Retry-After", async () => {
    const full = await startReplica(tasks, OFFERS, { limits: { maxCalls: 0, maxListens: 0 } });
    for (const [method, params] of [
      ["tools/call", { name: "plain" }],
      ["subscriptions/listen", { notifications: {} }],
    ] as const) {
      const { status, headers, message } = await call(full.url, method, { params });
      expect([status, headers["retry-after"], message.error.code]).toEqual([429, "1", -32603]);
    }
    await full.api.stop();
  });
});

describe("8: the handler", () => {
  test("an unknown tool is -32602", async () => {
    const { status, message } = await call(url, "tools/call", tool("nobody"));
    expect([status, message.error]).toEqual([200, { code: -32602, message: "Unknown tool: nobody" }]);
  });

  test("arguments that the schema refuses are a result that a model can read", async () => {
    const { status, message } = await call(url, "tools/call", tool("plain", { n: "one" }));
    expect([status, message.result.resultType, message.result.isError]).toEqual([200, "complete", true]);
    expect(message.result.content[0].text).toContain("n");
  });

  test.each([{ name: 5 }, { name: "plain", arguments: [] }, { name: "plain", requestState: 5 }])(
    "params %j are -32602",
    async (params) => {
      const { message } = await call(url, "tools/call", { params, headers: { "mcp-name": "plain" } });
      expect(message.error.code).toBe(-32602);
    },
  );

  test("a tool that throws tells its client nothing of why", async () => {
    const { status, message, text } = await call(url, "tools/call", tool("broken"));
    expect([status, message.error.code]).toEqual([200, -32603]);
    expect(text).not.toContain("secret");
  });

  test("a result over the limit is -32603", async () => {
    const { message } = await call(url, "tools/call", tool("huge"));
    expect(message.error).toMatchObject({ code: -32603, message: "The result is over 65536 bytes" });
  });

  test("every result has its type and the server's identity; a string id stays one", async () => {
    const { message } = await call(url, "tools/call", { ...tool("plain"), id: "7" });
    expect(message).toEqual({
      jsonrpc: "2.0",
      id: "7",
      result: {
        content: [{ type: "text", text: "hello" }],
        resultType: "complete",
        _meta: { "io.modelcontextprotocol/serverInfo": { name: "perdure", version: "0.0.0-test" } },
      },
    });
  });

  test("an unexpected exception is -32603, 500, without details, and logged with the request's id", async () => {
    const failing = await startReplica(
      { ...tasks, store: { ...tasks.store, read: () => Promise.reject(new Error("secret detail")) } },
      OFFERS,
    );
    const { status, headers, message, text } = await call(failing.url, "tasks/get", {
      params: { taskId: "x" },
      capabilities: TASKS,
    });
    expect([status, message.error]).toEqual([500, { code: -32603, message: "Internal error" }]);
    expect(text).not.toContain("secret");
    const line = failing.lines.find(({ requestId }) => requestId === headers["x-request-id"]);
    expect(line).toMatchObject({
      level: "error",
      method: "tasks/get",
      status: 500,
      err: { message: "secret detail" },
    });
    await failing.api.stop();
  });

  test("lists are empty where there is nothing, declared, and paged", async () => {
    const { message } = await call(url, "server/discover");
    expect(message.result).toMatchObject({
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: {}, prompts: {}, resources: {}, logging: {}, ...TASKS },
      cacheScope: "public",
    });
    expect(message.result.ttlMs).toBeGreaterThan(0);
    for (const [method, member] of [
      ["prompts/list", "prompts"],
      ["resources/list", "resources"],
      ["resources/templates/list", "resourceTemplates"],
    ] as const)
      expect((await call(url, method)).message.result).toMatchObject({ [member]: [], cacheScope: "public" });
    expect((await call(url, "completion/complete")).status).toBe(404);
    expect((await call(url, "tools/list", { params: { cursor: "none" } })).message.error.code).toBe(-32602);
  });
});

test("what is no HTTP is 400, and too large headers are 431, without a stack", async () => {
  const { port } = new URL(url);
  const raw = async (text: string): Promise<string> => {
    const socket = connect(Number(port), "127.0.0.1");
    socket.end(text);
    let answer = "";
    for await (const chunk of socket) answer += String(chunk);
    return answer;
  };
  expect(await raw("HELLO\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 [^<]*$/);
  expect(await raw(`POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(40_000)}\r\n\r\n`)).toMatch(
    /^HTTP\/1\.1 431 /,
  );
});

test("other paths are 404 in JSON, and nothing says what serves them", async () => {
  const { status, headers, text } = await call(new URL("/nowhere", url).href, "x", { httpMethod: "GET" });
  expect([status, JSON.parse(text)]).toEqual([404, { error: "Not found: the MCP endpoint is /mcp" }]);
  expect(headers).not.toHaveProperty("x-powered-by");
});

test("the log has a line for each request, with its id, and never a token or an argument", async () => {
  const { headers } = await call(url, "tools/call", {
    ...tool("plain", { n: 424_242 }),
    as: "acme/alice/topsecret",
  });
  const line = replica.lines.find(({ requestId }) => requestId === headers["x-request-id"]);
  expect(line).toMatchObject({ method: "tools/call", tool: "plain", status: 200 });
  expect(JSON.stringify(replica.lines)).not.toMatch(/424242|topsecret/);
});

function nameHeader(params: object): Record<string, string> {
  const { taskId, name } = params as { taskId?: unknown; name?: unknown };
  const value = taskId ?? name;
  return typeof value === "string" ? { "mcp-name": value } : {};
}

function discoverWith(meta: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", id: 9, method: "server/discover", params: { _meta: meta } });
}
