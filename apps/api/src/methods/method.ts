import type { HeaderReader, JsonObject, RequestId, RequestMeta } from "@perdure/protocol";
import type { TraceParent } from "@perdure/runtime";
import type { Owner } from "@perdure/tasks";
import type { Identity } from "../identity/identity.ts";
import type { SseEvents, SseStream } from "../streams/sse-stream.ts";

/** One request that has passed every check before its handler (design §5, steps 1 to 7). */
export interface Call {
  readonly id: RequestId;
  readonly method: string;
  /** As they came. */
  readonly params: JsonObject;
  readonly meta: RequestMeta;
  readonly identity: Identity;
  readonly owner: Owner;
  /** Aborted when the client went away. */
  readonly clientGone: AbortSignal;
  /** The same, for those who only want to know by now. */
  readonly isGone: boolean;
  /** True when the client accepts an SSE stream. */
  readonly mayStream: boolean;
  /** Says something before the answer; see `Reply.notify`. */
  notify(method: string, paramsJson: string): void;
  openStream(events?: Partial<SseEvents>): SseStream;
  /** The client's own name for this call; the same again is answered with what the first one made. */
  readonly idempotencyKey: string | undefined;
  /** What a task made by this call continues from; none when this process makes no traces. */
  readonly trace: TraceParent | undefined;
  /** Adds to the request's log line: ids, never arguments. */
  note(fields: Readonly<Record<string, string>>): void;
}

/** One JSON-RPC method. The three checks see params that nobody has validated yet. */
export interface Method {
  /** Step 5: headers beyond the routing headers. Throws `headerMismatch`. */
  readonly checkHeaders?: (readHeader: HeaderReader, params: JsonObject) => void;
  /** Step 7: what the client must have declared, in the shape of `ClientCapabilities`. */
  readonly requiredCapabilities?: (params: JsonObject) => JsonObject | undefined;
  /** Step 7: what the caller's token must grant. */
  readonly requiredScopes?: (params: JsonObject) => readonly string[];
  /** Step 8. Gives the result as JSON text; nothing when it has ended a stream itself. Throws a `WireError` to refuse. */
  readonly serve: (call: Call) => Promise<string | undefined> | string;
}
