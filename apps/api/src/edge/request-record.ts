import type { RequestId, WireError } from "@perdure/protocol";
import type { Log, Metrics } from "@perdure/runtime";
import type { Clock } from "../api-deps.ts";
import type { Reply } from "./reply.ts";

/** What a record is made of. */
export interface RequestRecordDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "httpRequests" | "httpRequestSeconds">;
}

/** What is known of one request, for its log line and its metrics. Never a token, never an argument. */
export class RequestRecord {
  readonly #requestId: string;
  readonly #deps: RequestRecordDeps;
  readonly #startedMs: number;
  #id: RequestId | undefined;
  #method = "other";
  #failure: WireError | undefined;
  #noted: Readonly<Record<string, string>> = {};

  /** Begins now. */
  constructor(requestId: string, deps: RequestRecordDeps) {
    this.#requestId = requestId;
    this.#deps = deps;
    this.#startedMs = deps.clock.monotonicMs();
  }

  get id(): RequestId | undefined {
    return this.#id;
  }

  setId(id: RequestId): void {
    this.#id = id;
  }

  /** A known method, or `"other"`: a client's text is no label. */
  setMethod(method: string): void {
    this.#method = method;
  }

  note(fields: Readonly<Record<string, string>>): void {
    this.#noted = { ...this.#noted, ...fields };
  }

  fail(error: WireError): void {
    this.#failure = error;
  }

  /** Counts, and writes the line. */
  end(reply: Reply): void {
    const { clock, metrics } = this.#deps;
    const ms = clock.monotonicMs() - this.#startedMs;
    const status = reply.isGone && reply.status === 0 ? CLIENT_GONE : reply.status;
    const method = this.#method;
    metrics.httpRequests.inc({ method, code: String(status) });
    if (!reply.isStream) metrics.httpRequestSeconds.observe({ method }, ms / 1000);
    this.#log(status, ms);
  }

  #log(status: number, ms: number): void {
    const { log } = this.#deps;
    const failure = this.#failure;
    const isError = failure !== undefined && failure.httpStatus >= 500;
    if (!log.writes(isError ? "error" : "info")) return;
    const line = {
      requestId: this.#requestId,
      method: this.#method,
      ...this.#noted,
      status,
      ...(failure && { code: failure.rpcCode }),
      ms: Math.round(ms * 100) / 100,
    };
    if (isError) log.error({ ...line, err: failure.cause ?? failure }, "Request failed");
    else log.info(line, failure ? "Request refused" : "Request served");
  }
}

/** In logs and metrics, where no status could be sent. */
const CLIENT_GONE = 499;
