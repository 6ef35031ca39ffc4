import type { IncomingMessage, ServerResponse } from "node:http";
import {
  checkRoutingHeaders,
  checkVersion,
  missingCapabilities,
  parseJson,
  parseMessage,
  parseRequestMeta,
  wireErrors,
} from "@perdure/protocol";
import type { ClientMessage, HeaderReader, RequestId, RequestMeta } from "@perdure/protocol";
import type { Log, Metrics, Tracing } from "@perdure/runtime";
import { mintNonce } from "@perdure/tasks";
import type { RateLimits } from "@perdure/tasks";
import type { Clock } from "../api-deps.ts";
import { hasScopes } from "../identity/identity.ts";
import type { Identity } from "../identity/identity.ts";
import type { OriginGuard } from "../identity/origin-guard.ts";
import type { TokenVerifier } from "../identity/token-verifier.ts";
import type { Method } from "../methods/method.ts";
import { ServedCall } from "./served-call.ts";
import { allowOrigin, isPreflight, setPreflightHeaders } from "./cross-origin.ts";
import { idempotencyKeyOf } from "./idempotency-key.ts";
import { RequestAborted, readBody } from "./read-body.ts";
import { headerValues } from "./header-values.ts";
import { Reply, assertAcceptable } from "./reply.ts";
import { RequestRecord } from "./request-record.ts";
import { startRequestSpan } from "./request-span.ts";
import type { RequestSpan } from "./request-span.ts";
import { refusalOf, wireErrorOf } from "./wire-failure.ts";

/** What the endpoint stands on. */
export interface EndpointDeps {
  readonly methods: ReadonlyMap<string, Method>;
  readonly originGuard: OriginGuard;
  readonly verifier: TokenVerifier;
  readonly rates: RateLimits;
  readonly maxBodyBytes: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  readonly isStopping: () => boolean;
}

/** The MCP endpoint. The promise resolves when the response is over, and never rejects. */
export type Endpoint = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/**
 * The order of checks of one request (design §5):
 *
 *     1 method · Host, Origin · Authorization     2 content type, size, JSON, envelope     3 notification: 202
 *     4 _meta, version    5 routing and parameter headers    6 method known    7 capability, scope, rate    8 handler
 *
 * What a check throws becomes the answer, in one place.
 */
export function createEndpoint(deps: EndpointDeps): Endpoint {
  const { clock, isStopping } = deps;
  return async (request, response) => {
    const requestId = mintNonce();
    const reply = new Reply(request, response, { requestId, nowMs: clock.monotonicMs, isStopping });
    const record = new RequestRecord(requestId, deps);
    try {
      await serve(deps, { request, response, reply, record });
    } catch (error) {
      if (!(error instanceof RequestAborted)) {
        const failure = wireErrorOf(error);
        record.fail(failure);
        reply.sendError(record.id ?? failure.requestId, failure);
      }
    }
    record.end(reply);
  };
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly reply: Reply;
  readonly record: RequestRecord;
}

async function serve(deps: EndpointDeps, exchange: Exchange): Promise<void> {
  const { request, response, reply, record } = exchange;
  const preflight = isPreflight(request);
  if (request.method !== "POST" && !preflight) throw wireErrors.methodNotAllowed();
  const guarded = deps.originGuard.check(headerValues(request, "host"), headerValues(request, "origin"));
  if (guarded.verdict === "refused") throw wireErrors.forbidden(guarded.description);
  allowOrigin(request, response);
  if (preflight) {
    setPreflightHeaders(request, response);
    return reply.sendEmpty(204);
  }
  const verdict = await deps.verifier.verify(headerValues(request, "authorization"));
  if (verdict.verdict === "refused") throw refusalOf(verdict);

  assertAcceptable(request);
  const message = parseMessage(parseJson(await readBody(request, deps.maxBodyBytes)));
  record.setMethod(deps.methods.has(message.method) ? message.method : "other");
  if (message.kind === "notification") return reply.sendEmpty(202);
  record.setId(message.id);
  return answer(deps, exchange, { message, identity: verdict.identity });
}

interface Asked {
  readonly message: ClientMessage & { kind: "request" };
  readonly identity: Identity;
}

function answer(deps: EndpointDeps, exchange: Exchange, asked: Asked): Promise<void> {
  const { id, params, method: name } = asked.message;
  const meta = parseRequestMeta(params);
  const method = deps.methods.has(name) ? name : "other";
  const span = startRequestSpan(deps.tracing, { method, id, meta }, wireErrorOf);
  exchange.record.note(span.ids);
  return span
    .run(() => checkAndServe(deps, exchange, { ...asked, meta, span }))
    .then(sendTo(exchange.reply, id));
}

/** A stream's result comes when it ends, perhaps in days: until then nothing of its request is held by this. */
function sendTo(reply: Reply, id: RequestId): (result: string | undefined) => void {
  return (result) => {
    if (result !== undefined) reply.sendResult(id, result);
  };
}

interface Traced extends Asked {
  readonly meta: RequestMeta;
  readonly span: RequestSpan;
}

async function checkAndServe(
  deps: EndpointDeps,
  exchange: Exchange,
  { message, identity, meta, span }: Traced,
): Promise<string | undefined> {
  const { request } = exchange;
  const { id, method: name } = message;
  const readHeader: HeaderReader = (header) => headerValues(request, header);
  checkVersion(readHeader, meta);
  checkRoutingHeaders(readHeader, name, message.params);
  const params = message.params ?? {};
  const method = deps.methods.get(name);
  method?.checkHeaders?.(readHeader, params);
  if (!method) throw wireErrors.methodNotFound(name);

  const missing = missingCapabilities(method.requiredCapabilities?.(params) ?? {}, meta.capabilities);
  if (missing) throw wireErrors.missingCapability(missing);
  const scopes = method.requiredScopes?.(params) ?? [];
  if (!hasScopes(identity, scopes)) throw refusalOf(deps.verifier.insufficientScope(scopes));

  const owner = { tenant: identity.tenant, principal: identity.principal };
  const rate = await deps.rates.take(owner);
  if (rate.verdict === "limited") {
    throw wireErrors.rateLimited(rate.retryAfterMs, `Too many requests of this ${rate.limit}`);
  }

  const idempotencyKey = idempotencyKeyOf(readHeader, params);
  const call = new ServedCall(exchange, span, {
    id,
    method: name,
    params,
    meta,
    identity,
    owner,
    idempotencyKey,
  });
  return method.serve(call);
}
