import { isJsonObject, ownMember, singleHeader, wireErrors } from "@perdure/protocol";
import type { HeaderReader, JsonObject } from "@perdure/protocol";

/** The member of `_meta` that says the same as the header `Idempotency-Key`, for clients that cannot set headers. */
export const IDEMPOTENCY_META = "dev.perdure/idempotencyKey";

const KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * A client's own name for what it asks: the header `Idempotency-Key`, or `_meta["dev.perdure/idempotencyKey"]`; undefined when
 * there is neither. Throws `headerMismatch` when they differ, `invalidParams` for a key that is not 1 to 255 printable ASCII characters.
 */
export function idempotencyKeyOf(readHeader: HeaderReader, params: JsonObject): string | undefined {
  const header = singleHeader(readHeader, "idempotency-key");
  const meta = ownMember(params, "_meta");
  const member = isJsonObject(meta) ? ownMember(meta, IDEMPOTENCY_META) : undefined;
  if (header !== undefined && member !== undefined && header !== member) {
    throw wireErrors.headerMismatch(`Idempotency-Key differs from _meta["${IDEMPOTENCY_META}"]`);
  }
  const key = header ?? member;
  if (key === undefined) return undefined;
  if (typeof key !== "string" || !KEY.test(key)) {
    throw wireErrors.invalidParams(
      "Idempotency-Key: expected 1 to 255 printable ASCII characters without spaces",
    );
  }
  return key;
}
