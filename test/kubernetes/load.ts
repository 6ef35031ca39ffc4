import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/*
 * Clients that make tasks and follow them to their end, and count. It runs inside the cluster, in a pod of our image, as one file
 * out of a ConfigMap: so it imports nothing but Node. Every client keeps its connections, as clients do.
 */

/** Where, as whom, how many, for how long. */
export interface LoadOptions {
  /** The MCP endpoint. */
  readonly url: string;
  readonly token: string;
  readonly clients: number;
  /** Asked before each task; a task that was begun is followed to its end. */
  readonly isOver: () => boolean;
  /** How long a task may take before it counts as lost. Default 120,000. */
  readonly lostAfterMs?: number;
}

/** What was counted. A request fails when it gets no answer, or another one than a JSON-RPC result. */
export interface LoadFigures {
  readonly requests: number;
  readonly failed: number;
  readonly created: number;
  readonly completed: number;
  /** Acknowledged, and then unknown, not completed, or not ended in time. */
  readonly lost: number;
  /** What was said by the first few that failed. */
  readonly failures: readonly string[];
}

const PROTOCOL_VERSION = "2026-07-28";
const TASKS = "io.modelcontextprotocol/tasks";
const POLL_MS = 250;
const SHOWN = 10;

/** Runs the clients until it is over. Never throws for what the server does: that is what is counted. */
export async function load(options: LoadOptions): Promise<LoadFigures> {
  const { url, token, clients, isOver, lostAfterMs = 120_000 } = options;
  const failures: string[] = [];
  const count = { requests: 0, failed: 0, created: 0, completed: 0 };

  const request = async (method: string, name: string, params: object): Promise<TaskResult | undefined> => {
    count.requests += 1;
    try {
      return await post({ url, token, method, name, params });
    } catch (error) {
      count.failed += 1;
      failures.push(`${new Date().toISOString()} ${method}: ${textOf(error)}`);
      await delay(POLL_MS);
      return undefined;
    }
  };

  const client = async (): Promise<void> => {
    while (!isOver()) {
      const made = await request("tools/call", "slow_compute", { arguments: { seconds: 0.5 } });
      if (made?.taskId === undefined) continue;
      count.created += 1;
      const deadlineMs = performance.now() + lostAfterMs;
      let status = made.status;
      while (status === "working" && performance.now() < deadlineMs) {
        await delay(POLL_MS);
        status = (await request("tasks/get", made.taskId, { taskId: made.taskId }))?.status ?? status;
      }
      if (status === "completed") count.completed += 1;
    }
  };

  await Promise.all(Array.from({ length: clients }, client));
  return { ...count, lost: count.created - count.completed, failures: failures.slice(0, SHOWN) };
}

interface TaskResult {
  readonly taskId?: string;
  readonly status?: string;
}

interface Post {
  readonly url: string;
  readonly token: string;
  readonly method: string;
  readonly name: string;
  readonly params: object;
}

async function post({ url, token, method, name, params }: Post): Promise<TaskResult> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": PROTOCOL_VERSION,
      "mcp-method": method,
      "mcp-name": name,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method,
      params: {
        ...(method === "tools/call" ? { name } : {}),
        ...params,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": PROTOCOL_VERSION,
          "io.modelcontextprotocol/clientInfo": { name: "perdure-walk", version: "0.1.0" },
          "io.modelcontextprotocol/clientCapabilities": { extensions: { [TASKS]: {} } },
        },
      },
    }),
    signal: AbortSignal.timeout(15_000),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`HTTP ${response.status}: ${text.slice(0, 200)}`);
  const { result }: { result?: TaskResult } = JSON.parse(text);
  if (!result) throw new Error(text.slice(0, 200));
  return result;
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

/** In the pod: says "started", goes on until the file is there, and prints the figures as its last line. */
async function main({
  WALK_URL = "",
  WALK_TOKEN = "",
  WALK_CLIENTS = "4",
  WALK_STOP_FILE = "",
}): Promise<void> {
  console.log("started");
  const isOver = (): boolean => existsSync(WALK_STOP_FILE);
  const figures = await load({ url: WALK_URL, token: WALK_TOKEN, clients: Number(WALK_CLIENTS), isOver });
  console.log(JSON.stringify(figures));
}

if (import.meta.main) await main(process.env);
