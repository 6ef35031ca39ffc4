import type { IncomingMessage, ServerResponse } from "node:http";
import { errorText, notificationText, resultText, wireErrors } from "@perdure/protocol";
import type { RequestId, WireError } from "@perdure/protocol";
import { openSseStream } from "../streams/sse-stream.ts";
import type { SseEvents, SseStream } from "../streams/sse-stream.ts";

/**
 * The response to one request: a single JSON text, or an SSE stream whose last event it is. It becomes a stream when
 * something is to be said before the end, and the client accepts one (MCP Streamable HTTP §Receiving Messages).
 */
export interface Reply {
  /** Aborted when the client went away before the end. Made when it is first asked for: most answers need none. */
  readonly clientGone: AbortSignal;
  /** True once the client went away before the end. */
  readonly isGone: boolean;
  /** True when the client accepts an SSE stream. */
  readonly mayStream: boolean;
  /** The HTTP status that was sent; 0 before. */
  readonly status: number;
  /** True once this is a stream. */
  readonly isStream: boolean;
  /** Makes this a stream, now. The caller has asked `mayStream`. */
  readonly openStream: (events?: Partial<SseEvents>) => SseStream;
  /** Says something before the end. Dropped when the client accepts no stream, or is slow. */
  readonly notify: (method: string, paramsJson: string) => void;
  /** Idempotent, like each of the following: the first end counts. */
  sendResult(id: RequestId, resultJson: string): void;
  sendError(id: RequestId | undefined, error: WireError): void;
  sendEmpty(status: 202 | 204): void;
}

/** What a reply needs to know of the server. */
export interface ReplyOptions {
  readonly nowMs: () => number;
  /** True while the server is stopping: the connection is not kept then. */
  readonly isStopping: () => boolean;
}

const UNREAD_BODY = new Set([405, 413, 415]);

/** A {@link Reply} on a response that nothing was written to. */
export function createReply(
  request: IncomingMessage,
  response: ServerResponse,
  { nowMs, isStopping }: ReplyOptions,
): Reply {
  let gone: AbortController | undefined;
  let isGone = false;
  let stream: SseStream | undefined;
  let isOver = false;
  response.once("close", () => {
    if (isOver) return;
    isGone = true;
    gone?.abort();
  });

  const send = (status: number, body: string, headers: Readonly<Record<string, string>> = {}): void => {
    if (isOver) return;
    isOver = true;
    if (stream) return stream.end(body);
    if (response.destroyed || response.headersSent) return;
    const close = isStopping() || (UNREAD_BODY.has(status) && !request.complete);
    response.writeHead(status, {
      ...headers,
      ...(body !== "" && { "content-type": "application/json" }),
      ...(status !== 204 && { "content-length": Buffer.byteLength(body) }),
      ...(close && { connection: "close" }),
    });
    // A text goes out together with the headers, in one write.
    response.end(body);
  };

  const reply: Reply = {
    get clientGone() {
      gone ??= isGone ? aborted() : new AbortController();
      return gone.signal;
    },
    get isGone() {
      return isGone;
    },
    get mayStream() {
      return accepts(request.headers.accept, "text/event-stream");
    },
    get status() {
      return response.headersSent ? response.statusCode : 0;
    },
    get isStream() {
      return stream !== undefined;
    },
    openStream(events = {}) {
      stream ??= openSseStream(response, {
        nowMs,
        ...events,
        ...(isStopping() && { closeConnection: true }),
      });
      return stream;
    },
    notify(method, paramsJson) {
      if (isOver || !reply.mayStream) return;
      const open = reply.openStream();
      if (open.isWritable) open.send(notificationText(method, paramsJson));
    },
    sendResult: (id, resultJson) => send(200, resultText(id, resultJson)),
    sendError: (id, error) => send(error.httpStatus, errorText(id, error), error.headers),
    sendEmpty: (status) => send(status, ""),
  };
  return reply;
}

function aborted(): AbortController {
  const controller = new AbortController();
  controller.abort();
  return controller;
}

/** Throws `notAcceptable` (406) when the client takes neither of the two forms of a response. A missing header takes all. */
export function assertAcceptable(request: IncomingMessage): void {
  const { accept } = request.headers;
  if (!accepts(accept, "application/json") && !accepts(accept, "text/event-stream")) {
    throw wireErrors.notAcceptable();
  }
}

/** True when an `Accept` header lets a media type through (RFC 9110 §12.5.1). */
export function accepts(header: string | undefined, type: string): boolean {
  if (header === undefined || header.trim() === "") return true;
  const [major] = type.split("/");
  return header.split(",").some((range) => {
    const [name = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const isRefused = parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
    return !isRefused && (name === type || name === `${major}/*` || name === "*/*");
  });
}
