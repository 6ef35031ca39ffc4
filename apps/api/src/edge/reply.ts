import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { errorText, notificationText, resultText, wireErrors } from "@perdure/protocol";
import type { RequestId, WireError } from "@perdure/protocol";
import { openSseStream } from "../streams/sse-stream.ts";
import type { SseEvents, SseStream } from "../streams/sse-stream.ts";

/** What a reply needs to know of the server. */
export interface ReplyOptions {
  /** Told to the client in `x-request-id`. */
  readonly requestId: string;
  readonly nowMs: () => number;
  /** True while the server is stopping: the connection is not kept then. */
  readonly isStopping: () => boolean;
}

const UNREAD_BODY = new Set([405, 413, 415]);

/**
 * The response to one request: a single JSON text, or an SSE stream whose last event it is. It becomes a stream when
 * something is to be said before the end, and the client accepts one (MCP Streamable HTTP §Receiving Messages).
 */
export class Reply {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #options: ReplyOptions;
  #gone: AbortController | undefined;
  #isGone = false;
  #stream: SseStream | undefined;
  #isOver = false;

  /** On a response that nothing was written to. */
  constructor(request: IncomingMessage, response: ServerResponse, options: ReplyOptions) {
    this.#request = request;
    this.#response = response;
    this.#options = options;
    response.on("close", () => {
      if (this.#isOver) return;
      this.#isGone = true;
      this.#gone?.abort();
    });
  }

  /** Aborted when the client went away before the end. Made when it is first asked for: most answers need none. */
  get clientGone(): AbortSignal {
    this.#gone ??= new AbortController();
    if (this.#isGone) this.#gone.abort();
    return this.#gone.signal;
  }

  /** True once the client went away before the end. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** True when this is an SSE stream, or the client accepts one. */
  get mayStream(): boolean {
    return this.isStream || accepts(this.#request.headers.accept, "text/event-stream");
  }

  /** The HTTP status that was sent; 0 before. */
  get status(): number {
    return this.#response.headersSent ? this.#response.statusCode : 0;
  }

  /** True once this is a stream. */
  get isStream(): boolean {
    return this.#stream !== undefined;
  }

  /** Makes this a stream, now. The caller has asked `mayStream`. */
  openStream(events: Partial<SseEvents> = {}): SseStream {
    if (this.#stream) return this.#stream;
    const { requestId, nowMs, isStopping } = this.#options;
    this.#stream = openSseStream(this.#response, {
      nowMs,
      ...events,
      headers: { "x-request-id": requestId, ...(isStopping() && { connection: "close" }) },
    });
    forgetHeaders(this.#request);
    return this.#stream;
  }

  /** Says something before the end. Dropped when the client accepts no stream, or is slow. */
  notify(method: string, paramsJson: string): void {
    if (this.#isOver || !this.mayStream) return;
    const open = this.openStream();
    if (open.isWritable) open.send(notificationText(method, paramsJson));
  }

  /** Idempotent, like each of the following: the first end counts. */
  sendResult(id: RequestId, resultJson: string): void {
    this.#end(200, resultText(id, resultJson));
  }

  sendError(id: RequestId | undefined, error: WireError): void {
    this.#end(error.httpStatus, errorText(id, error), error.headers);
  }

  sendEmpty(status: 202 | 204): void {
    this.#end(status, "");
  }

  #end(status: number, body: string, others?: Readonly<Record<string, string>>): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const response = this.#response;
    if (this.#stream) return this.#stream.end(body);
    if (response.destroyed || response.headersSent) return;
    const { requestId, isStopping } = this.#options;
    const headers: OutgoingHttpHeaders = { ...others, "x-request-id": requestId };
    if (body !== "") headers["content-type"] = "application/json";
    if (status !== 204) headers["content-length"] = Buffer.byteLength(body);
    if (isStopping() || (UNREAD_BODY.has(status) && !this.#request.complete)) headers.connection = "close";
    response.writeHead(status, headers);
    // A text goes out together with the headers, in one write.
    response.end(body);
  }
}

/** A stream may last for days: the token that it began with, and what else came with it, is not kept so long. */
function forgetHeaders(request: IncomingMessage): void {
  request.rawHeaders = [];
  request.headers = NO_HEADERS;
  request.headersDistinct = NO_HEADERS;
}

const NO_HEADERS = {};

/** Throws `notAcceptable` (406) when the client takes neither of the two forms of a response. A missing header takes all. */
export function assertAcceptable(request: IncomingMessage): void {
  const { accept } = request.headers;
  if (!accepts(accept, "application/json") && !accepts(accept, "text/event-stream")) {
    throw wireErrors.notAcceptable();
  }
}

/** What the text of MCP has clients send: nearly every request has it. */
const BOTH_FORMS = "application/json, text/event-stream";

/** True when an `Accept` header lets one of the two forms of a response through (RFC 9110 §12.5.1). */
export function accepts(header: string | undefined, type: "application/json" | "text/event-stream"): boolean {
  if (header === undefined || header === BOTH_FORMS || header.trim() === "") return true;
  const [major] = type.split("/");
  return header.split(",").some((range) => {
    const [name = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const isRefused = parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
    return !isRefused && (name === type || name === `${major}/*` || name === "*/*");
  });
}
