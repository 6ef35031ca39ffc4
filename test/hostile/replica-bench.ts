import assert from "node:assert/strict";
import { startCluster } from "@perdure/testkit";
import type { Cluster, ClusterOptions, Json } from "@perdure/testkit";
import { exchange } from "./raw-http.ts";
import type { RawOptions, RawResponse } from "./raw-http.ts";
import { ATTACKERS, HOSTILE_TOOLS, createVictims } from "./victims.ts";
import type { Victims } from "./victims.ts";

const VERSION = "2026-07-28";
const META = "io.modelcontextprotocol";

/** A running replica with tasks of others, and an attacker that has a good token of its own. */
export interface HostileBench extends AsyncDisposable {
  readonly cluster: Cluster;
  readonly victims: Victims;
  readonly port: number;
  /** `Bearer …` of the attacker. */
  readonly authorization: string;
  /** Sends bytes as they are. */
  readonly raw: (options: RawOptions) => ReturnType<typeof exchange>;
  /** Sends one request with these changes and gives its one response. */
  send(request?: HostileRequest): Promise<RawResponse>;
  /** What is not as it was: the replica answers, has grown by less than `maxGrowthMb` (128) since the start, and the victims' tasks did not change. */
  harm(maxGrowthMb?: number): Promise<readonly string[]>;
}

/** How one request differs from a proper `tools/list`. */
export interface HostileRequest {
  readonly method?: string;
  readonly params?: Json;
  /** Instead of the message. */
  readonly body?: string | Buffer;
  /** One more line each, or in place of the usual one of that name; `undefined` leaves it out. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The request line. */
  readonly line?: string;
}

/** Starts it. */
export async function startHostileBench(options: Partial<ClusterOptions> = {}): Promise<HostileBench> {
  const cluster = await startCluster({
    replicas: 1,
    workers: 1,
    ...options,
    env: {
      PERDURE_TOOLS: HOSTILE_TOOLS,
      PERDURE_TASK_TTL_MS: "5000",
      PERDURE_CALL_TIMEOUT_MS: "3000",
      ...options.env,
    },
  });
  try {
    const victims = await createVictims(cluster);
    const before = await victims.view();
    const port = Number(new URL(cluster.replicas[0]?.url ?? "").port);
    const authorization = `Bearer ${await cluster.token({ ...ATTACKERS[0], expiresInSeconds: 3600 })}`;
    const rssBefore = await residentMb(cluster);
    const send = async (request: HostileRequest = {}): Promise<RawResponse> => {
      const bytes = requestBytes({ ...request, port, authorization });
      const { responses, text } = await exchange(port, { chunks: [bytes] });
      const [response] = responses;
      if (!response) throw new Error(`No response: ${JSON.stringify(text)}`);
      expectClean(response, victims, cluster.dir);
      return response;
    };
    return {
      cluster,
      victims,
      port,
      authorization,
      raw: (raw) => exchange(port, raw),
      send,
      async harm(maxGrowthMb = 128) {
        const { status } = await send();
        const view = await victims.view();
        const grownMb = (await residentMb(cluster)) - rssBefore;
        return [
          ...(status === 200 ? [] : [`a proper request gets ${status}`]),
          ...view
            .filter((task, at) => task !== before[at])
            .map((task) => `a task of others changed: ${task}`),
          ...(grownMb < maxGrowthMb ? [] : [`the replica has grown by ${grownMb} MB`]),
        ];
      },
      [Symbol.asyncDispose]: () => cluster.stop(),
    };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** The bytes of one request. */
export function requestBytes(
  request: HostileRequest & { readonly port: number; readonly authorization: string },
): Buffer {
  const { method = "tools/list", params = {}, line = "POST /mcp HTTP/1.1" } = request;
  const body = Buffer.from(request.body ?? messageText(method, params));
  const named = ["taskId", "name", "uri"].map((key) => params[key]).find((name) => typeof name === "string");
  const usual: Readonly<Record<string, string | readonly string[] | undefined>> = {
    host: `127.0.0.1:${request.port}`,
    authorization: request.authorization,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": VERSION,
    "mcp-method": method,
    "mcp-name": named === undefined ? undefined : `=?base64?${Buffer.from(named).toString("base64")}?=`,
    "content-length": String(body.length),
  };
  const lines = Object.entries({ ...usual, ...request.headers }).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((one) => `${name}: ${one}`),
  );
  return Buffer.concat([Buffer.from(`${[line, ...lines].join("\r\n")}\r\n\r\n`, "latin1"), body]);
}

/** A whole JSON-RPC request with id 1. */
export function messageText(method: string, params: Json, id: unknown = 1): string {
  const { _meta, ...rest } = params;
  return JSON.stringify({
    jsonrpc: "2.0",
    id,
    method,
    params: { ...rest, _meta: { ...usualMeta(), ...(typeof _meta === "object" ? _meta : {}) } },
  });
}

/** The `_meta` that a client with forms and tasks sends. */
export function usualMeta(): Json {
  return {
    [`${META}/protocolVersion`]: VERSION,
    [`${META}/clientInfo`]: { name: "hostile", version: "0" },
    [`${META}/clientCapabilities`]: {
      elicitation: { form: {} },
      extensions: { [`${META}/tasks`]: {} },
    },
  };
}

/** No server error, nothing of others, nothing of the machine. */
export function expectClean(response: RawResponse, victims: Victims, dir: string): void {
  const { status, headers, body } = response;
  assert(status < 500, `the status ${status}: ${body}`);
  const told = `${[...headers].flat().join("\n")}\n${body}`;
  const leaks = [...victims.leaksIn(told), ...[dir, ...MACHINE].filter((word) => told.includes(word))];
  assert.deepEqual(leaks, [], `it tells too much: ${told}`);
}

/** What only a stack or a path of ours has. */
export const MACHINE: readonly string[] = [
  "    at ",
  "node_modules",
  "node:internal",
  ".ts:",
  "/apps/",
  "/packages/",
];

/** The error of a response that is one. */
export function errorOf(response: RawResponse): {
  readonly id?: unknown;
  readonly code: number;
  readonly message: string;
} {
  const { jsonrpc, id, error } = JSON.parse(response.body);
  assert.equal(jsonrpc, "2.0");
  assert(Number.isInteger(error.code) && typeof error.message === "string", response.body);
  assert(response.body.length < 4096, `an error of ${response.body.length} bytes`);
  return { ...(id !== undefined && { id }), code: error.code, message: error.message };
}

/** Resident memory of the first replica. */
export async function residentMb(cluster: Cluster): Promise<number> {
  const response = await fetch(`${cluster.replicas[0]?.opsUrl}/metrics`);
  const bytes = /^process_resident_memory_bytes\S* (\S+)/m.exec(await response.text())?.[1];
  return Number(bytes) / 1e6;
}
