import { type Socket, connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** One HTTP response, as it was on the wire. */
export interface RawResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** What came over one connection. */
export interface RawExchange {
  readonly responses: readonly RawResponse[];
  /** All bytes, as latin1. */
  readonly text: string;
  /** The server ended the connection. */
  readonly isClosed: boolean;
  /** From the first byte that was sent to the last that came, in milliseconds. */
  readonly ms: number;
}

/** How bytes are sent, and how long is waited for what comes back. */
export interface RawOptions {
  /** Sent one after the other, `gapMs` apart; it ends early when the server closes. */
  readonly chunks: Iterable<string | Buffer>;
  readonly gapMs?: number;
  /** Enough, and the connection is ended from here. Default: when one whole response came. */
  readonly isEnough?: (exchange: Pick<RawExchange, "responses" | "text">) => boolean;
  /** Default 10 s. */
  readonly timeoutMs?: number;
}

/** Sends bytes that no client library would send, and gives what came back; whatever happens, it resolves. */
export async function exchange(port: number, options: RawOptions): Promise<RawExchange> {
  const {
    chunks,
    gapMs = 0,
    timeoutMs = 10_000,
    isEnough = ({ responses }) => responses.length > 0,
  } = options;
  const startedMs = performance.now();
  const socket = connect(port, "127.0.0.1");
  let text = "";
  let isClosed = false;
  let lastMs = startedMs;
  const { promise: over, resolve } = Promise.withResolvers<void>();
  socket.setEncoding("latin1");
  socket.setNoDelay(true);
  socket.on("error", () => {});
  socket.on("data", (chunk: string) => {
    text += chunk;
    lastMs = performance.now();
    if (isEnough({ text, responses: parseResponses(text) })) resolve();
  });
  socket.on("close", () => {
    isClosed = true;
    lastMs = performance.now();
    resolve();
  });
  const timer = setTimeout(resolve, timeoutMs);
  void send(socket, chunks, gapMs);
  await over;
  clearTimeout(timer);
  socket.destroy();
  return { responses: parseResponses(text), text, isClosed, ms: lastMs - startedMs };
}

async function send(socket: Socket, chunks: Iterable<string | Buffer>, gapMs: number): Promise<void> {
  for (const chunk of chunks) {
    if (!socket.writable) return;
    socket.write(chunk);
    if (gapMs > 0) await delay(gapMs);
  }
}

/** The whole responses in a connection's bytes. What follows an incomplete one is not looked at. */
export function parseResponses(text: string): readonly RawResponse[] {
  const responses: RawResponse[] = [];
  let rest = text;
  for (;;) {
    const end = rest.indexOf("\r\n\r\n");
    const status = /^HTTP\/1\.1 (\d{3})/.exec(rest)?.[1];
    if (end < 0 || status === undefined) return responses;
    const headers = new Map<string, string>();
    for (const line of rest.slice(0, end).split("\r\n").slice(1)) {
      const colon = line.indexOf(":");
      headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
    }
    const body = rest.slice(end + 4);
    const taken = headers.get("transfer-encoding") === "chunked" ? dechunk(body) : plain(body, headers);
    if (taken === undefined) return responses;
    if (status !== "100") responses.push({ status: Number(status), headers, body: latin1ToUtf8(taken.body) });
    rest = body.slice(taken.length);
  }
}

interface Taken {
  readonly body: string;
  readonly length: number;
}

function plain(body: string, headers: ReadonlyMap<string, string>): Taken | undefined {
  const length = Number(headers.get("content-length") ?? 0);
  return body.length < length ? undefined : { body: body.slice(0, length), length };
}

function dechunk(body: string): Taken | undefined {
  let at = 0;
  let whole = "";
  for (;;) {
    const line = /^([\da-f]+)\r\n/i.exec(body.slice(at, at + 18));
    const size = Number.parseInt(line?.[1] ?? "", 16);
    if (!line || Number.isNaN(size)) return undefined;
    const start = at + line[0].length;
    if (body.length < start + size + 2) return undefined;
    whole += body.slice(start, start + size);
    at = start + size + 2;
    if (size === 0) return { body: whole, length: at };
  }
}

function latin1ToUtf8(text: string): string {
  return Buffer.from(text, "latin1").toString("utf8");
}
