import { randomBytes } from "node:crypto";
import type { RequestId, WireError } from "@perdure/protocol";
import type { Log, Metrics } from "@perdure/runtime";
import type { Clock } from "../api-deps.ts";
import type { Reply } from "./reply.ts";

/** What is known of one request, for its log line and its metrics. Never a token, never an argument. */
export interface RequestRecord {
  readonly id: RequestId | undefined;
  setId(id: RequestId): void;
  /** A known method, or `"other"`: a client's text is no label. */
  setMethod(method: string): void;
  readonly note: (fields: Readonly<Record<string, string>>) => void;
  fail(error: WireError): void;
  /** Writes the line and counts. */
  end(reply: Reply): void;
}

/** What a record is made of. */
export interface RequestRecordDeps {
  readonly requestId: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** A {@link RequestRecord} that begins now. */
export function createRequestRecord({ requestId, clock, log, metrics }: RequestRecordDeps): RequestRecord {
  const startedMs = clock.monotonicMs();
  let id: RequestId | undefined;
  let method = "other";
  let failure: WireError | undefined;
  const noted: Record<string, string> = {};

  return {
    get id() {
      return id;
    },
    setId(value) {
      id = value;
    },
    setMethod(value) {
      method = value;
    },
    note: (fields) => void Object.assign(noted, fields),
    fail(error) {
      failure = error;
    },
    end(reply) {
      const ms = Math.round((clock.monotonicMs() - startedMs) * 100) / 100;
      const { status, isStream } = reply;
      const isGone = reply.isGone && status === 0;
      metrics.httpRequests.inc({ method, code: isGone ? "499" : String(status) });
      if (!isStream) metrics.httpRequestSeconds.observe({ method }, ms / 1000);
      const line = {
        requestId,
        method,
        ...noted,
        status: isGone ? 499 : status,
        ...(failure && { code: failure.rpcCode }),
        ms,
      };
      if (failure && failure.httpStatus >= 500)
        log.error({ ...line, err: failure.cause ?? failure }, "Request failed");
      else log.info(line, failure ? "Request refused" : "Request served");
    },
  };
}

const ID_BYTES = 9;
const POOL_BYTES = ID_BYTES * 450;

/**
 * Ids for log lines, told to clients: random, so that they tell nobody how many others there are. The randomness is
 * taken in bulk; asking for it each time would cost more than the rest of a request's checks.
 */
export function createRequestIds(): () => string {
  let pool = Buffer.alloc(0);
  let at = 0;
  return () => {
    if (at >= pool.length) {
      pool = randomBytes(POOL_BYTES);
      at = 0;
    }
    at += ID_BYTES;
    return pool.toString("base64url", at - ID_BYTES, at);
  };
}
