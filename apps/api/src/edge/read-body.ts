import type { IncomingMessage } from "node:http";
import { wireErrors } from "@perdure/protocol";
import { headerValues } from "./header-values.ts";

/** The client went away before its request was whole: there is nobody to answer. */
export class RequestAborted extends Error {
  override readonly name = "RequestAborted";
  readonly code = "request_aborted";
}

const JSON_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?;?\s*$/i;
const UTF_8 = new TextDecoder("utf-8", { fatal: true });
/** A body that is too large is read to its end, and thrown away, up to this many times the limit: so the client hears why. */
const DISCARD_FACTOR = 4;

/**
 * The body as text. Throws `unsupportedMediaType` (415) unless it is uncompressed `application/json` in UTF-8,
 * `payloadTooLarge` (413) over `maxBytes`, `parseError` (-32700) for bytes that are no UTF-8, and
 * {@link RequestAborted} when the client is gone. Never holds more than `maxBytes`.
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<string> {
  const types = headerValues(request, "content-type");
  if (types.length !== 1 || !JSON_TYPE.test(types[0] ?? "")) throw wireErrors.unsupportedMediaType();
  const encoding = request.headers["content-encoding"];
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw wireErrors.unsupportedMediaType("Unsupported content encoding: send the body uncompressed");
  }
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > maxBytes * DISCARD_FACTOR) throw wireErrors.payloadTooLarge(maxBytes);
  const chunks = await collect(request, maxBytes);
  try {
    return UTF_8.decode(chunks);
  } catch {
    throw wireErrors.parseError("Parse error: the body is not UTF-8");
  }
}

/** An error after the end is the response's to deal with. */
function ignore(): void {}

/** Lets go of the bytes when it has them: the request of a stream is kept as long as the stream, with all that listens to it. */
function collect(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  let chunks: Buffer[] = [];
  let size = 0;
  const onData = (chunk: Buffer): void => {
    size += chunk.length;
    if (size <= maxBytes) chunks.push(chunk);
    else chunks = [];
    if (size <= maxBytes * DISCARD_FACTOR) return;
    request.pause();
    reject(wireErrors.payloadTooLarge(maxBytes));
  };
  request.on("data", onData);
  request.once("end", () => {
    if (size > maxBytes) reject(wireErrors.payloadTooLarge(maxBytes));
    else resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
    chunks = [];
    request.off("data", onData);
    request.off("error", onGone);
    request.off("close", onClose);
    request.on("error", ignore);
  });
  const onGone = (cause?: unknown): void => {
    if (!request.complete) reject(new RequestAborted("The client went away", { cause }));
  };
  request.once("error", onGone);
  const onClose = (): void => onGone();
  request.once("close", onClose);
  return promise;
}
