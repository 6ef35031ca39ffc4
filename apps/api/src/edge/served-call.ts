import type { JsonObject, RequestId, RequestMeta } from "@perdure/protocol";
import type { TraceParent } from "@perdure/runtime";
import type { Owner } from "@perdure/tasks";
import type { Identity } from "../identity/identity.ts";
import type { Call } from "../methods/method.ts";
import type { SseEvents, SseStream } from "../streams/sse-stream.ts";
import type { Reply } from "./reply.ts";
import type { RequestRecord } from "./request-record.ts";
import type { RequestSpan } from "./request-span.ts";

/** What the checks have found out. */
type Asked = Pick<Call, "id" | "method" | "params" | "meta" | "identity" | "owner" | "idempotencyKey">;

/** A {@link Call} that came over HTTP. */
export class ServedCall implements Call {
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
  readonly meta: RequestMeta;
  readonly identity: Identity;
  readonly owner: Owner;
  readonly idempotencyKey: string | undefined;
  readonly #reply: Reply;
  readonly #record: RequestRecord;
  readonly #span: RequestSpan;

  constructor(
    { reply, record }: { readonly reply: Reply; readonly record: RequestRecord },
    span: RequestSpan,
    asked: Asked,
  ) {
    this.id = asked.id;
    this.method = asked.method;
    this.params = asked.params;
    this.meta = asked.meta;
    this.identity = asked.identity;
    this.owner = asked.owner;
    this.idempotencyKey = asked.idempotencyKey;
    this.#reply = reply;
    this.#record = record;
    this.#span = span;
  }

  get clientGone(): AbortSignal {
    return this.#reply.clientGone;
  }

  get isGone(): boolean {
    return this.#reply.isGone;
  }

  get mayStream(): boolean {
    return this.#reply.mayStream;
  }

  get trace(): TraceParent | undefined {
    return this.#span.trace;
  }

  notify(method: string, paramsJson: string): void {
    this.#reply.notify(method, paramsJson);
  }

  openStream(events?: Partial<SseEvents>): SseStream {
    return this.#reply.openStream(events);
  }

  note(fields: Readonly<Record<string, string>>): void {
    this.#record.note(fields);
    this.#span.note(fields);
  }
}
