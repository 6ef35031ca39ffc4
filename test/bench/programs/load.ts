import { connect, type Socket } from "node:net";
import { quantileOf } from "../statistics.ts";
import { serve } from "./program.ts";

/*
 * A load generator: a fixed number of kept connections, each with one request in flight. It writes requests that were made
 * before and reads no more of a response than it must to know its end, so that little of the machine is spent here.
 */

/** What to send, and how much: so many requests, but no longer than `ms`. */
export interface Load {
  readonly port: number;
  /** Whole HTTP requests, taken in turn. */
  readonly requests: readonly string[];
  readonly concurrency: number;
  readonly count: number;
  readonly ms: number;
}

/** What came back. Times in milliseconds. */
export interface LoadResult {
  readonly count: number;
  readonly seconds: number;
  readonly p50: number;
  readonly p99: number;
  /** The first response whose status was not 200. A bench with one is void. */
  readonly refused?: string;
}

async function run({ port, requests, concurrency, count, ms }: Load): Promise<LoadResult> {
  const bodies = requests.map((request) => Buffer.from(request));
  const latencies: number[] = [];
  let refused: string | undefined;
  let next = 0;
  const sockets = await Promise.all(Array.from({ length: concurrency }, () => open(port)));
  const startedMs = performance.now();
  const endMs = startedMs + ms;
  await Promise.all(
    sockets.map(async (socket) => {
      const exchange = createExchange(socket);
      while (next < count && performance.now() < endMs && refused === undefined) {
        const sentMs = performance.now();
        const status = await exchange(bodies[next++ % bodies.length]!);
        latencies.push(performance.now() - sentMs);
        if (!status.startsWith("HTTP/1.1 200")) refused ??= status;
      }
    }),
  );
  const seconds = (performance.now() - startedMs) / 1000;
  for (const socket of sockets) socket.destroy();
  return {
    count: latencies.length,
    seconds,
    p50: quantileOf(latencies, 0.5),
    p99: quantileOf(latencies, 0.99),
    ...(refused !== undefined && { refused }),
  };
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true }, () => resolve(socket));
    socket.once("error", reject);
  });
}

/** Sends a request and gives the response's text when it is whole. */
function createExchange(socket: Socket): (request: Buffer) => Promise<string> {
  let text = "";
  let settle: ((text: string) => void) | undefined;
  let fail: ((error: Error) => void) | undefined;
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
    if (!isWhole(text)) return;
    const whole = text;
    text = "";
    settle?.(whole);
  });
  socket.on("error", (error) => fail?.(error));
  socket.on("close", () => fail?.(new Error(`The connection was closed after: ${text.slice(0, 200)}`)));
  return (request) =>
    new Promise((resolve, reject) => {
      settle = resolve;
      fail = reject;
      socket.write(request);
    });
}

function isWhole(text: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const head = text.slice(0, end).toLowerCase();
  const at = head.indexOf("content-length:");
  if (at >= 0) return text.length >= end + 4 + Number.parseInt(head.slice(at + 15), 10);
  return text.endsWith("\r\n0\r\n\r\n");
}

serve({ run });
