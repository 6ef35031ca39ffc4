import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { CliError } from "../cli-error.ts";
import {
  type ClientRequest,
  type McpClient,
  type ServerResult,
  createMcpClient,
} from "../client/mcp-client.ts";
import { startStack } from "../stack/start-stack.ts";

const DEADLINE_MS = 30_000;
const POLL_MS = 50;

/** Brings up a stack of its own on free ports, runs `generate_report`, and prints one line for each of six requests. */
export async function demo(out: NodeJS.WritableStream, say: (line: string) => void): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), "perdure-demo-"));
  try {
    const stack = await startStack({
      dataDir,
      host: "127.0.0.1",
      port: 0,
      opsPort: 0,
      issuerPort: 0,
      env: { PERDURE_LOG_LEVEL: "warn" },
      say,
    });
    try {
      const identity = { tenant: "acme", principal: "alice", scopes: [], expiresInSeconds: 600 };
      const token = await stack.issuer.sign(identity);
      await sixRequests(createMcpClient({ url: stack.url, token }), out);
    } finally {
      await stack.stop();
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function sixRequests(client: McpClient, out: NodeJS.WritableStream): Promise<void> {
  const show = async (id: number, request: ClientRequest): Promise<ServerResult> => {
    const result = await client.call({ ...request, id });
    const status = typeof result["status"] === "string" ? result["status"] : "ack";
    out.write(`id=${id} resultType=${result.resultType} status=${status}\n`);
    return result;
  };
  await show(0, { method: "server/discover" });
  const call = { name: "generate_report", arguments: { size: "large" } };
  const created = await show(1, { method: "tools/call", name: call.name, params: call });
  const { taskId } = z.looseObject({ taskId: z.string() }).parse(created);
  const get = { method: "tasks/get", name: taskId, params: { taskId } };
  await show(2, get);
  await waitFor(client, get, "input_required");
  await show(3, get);
  const inputResponses = { approve_outline: { action: "accept", content: { approved: true } } };
  await show(4, { method: "tasks/update", name: taskId, params: { taskId, inputResponses } });
  await waitFor(client, get, "completed");
  await show(5, get);
}

async function waitFor(client: McpClient, get: ClientRequest, status: string): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  let poll = 0;
  while (performance.now() < deadline) {
    poll += 1;
    const task = await client.call({ ...get, id: `${status}-${poll}` });
    if (task["status"] === status) return;
    await delay(POLL_MS);
  }
  throw new CliError(`The demo's task was not ${status} within ${DEADLINE_MS / 1000} s`);
}
