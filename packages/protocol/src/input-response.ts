import type { z } from "zod";
import { createMessageResult, elicitResult, listRootsResult } from "./content.ts";
import { jsonObject, type JsonValue } from "./json.ts";
import { pathText, problemOf } from "./problem.ts";
import { wireErrors } from "./wire-error.ts";

const RESULTS: ReadonlyMap<string, z.ZodType> = new Map<string, z.ZodType>([
  ["elicitation/create", elicitResult],
  ["sampling/createMessage", createMessageResult],
  ["roots/list", listRootsResult],
]);

/** A client's response to an input request of ours. */
export interface InputResponse {
  /** The key that the request was asked under. */
  readonly key: string;
  /** The method of that request. */
  readonly method: string;
  readonly response: JsonValue | undefined;
}

/**
 * Checks that a response has the shape that its request's method asks for: `ElicitResult`, `CreateMessageResult` or
 * `ListRootsResult`; an object for any other method. Unknown members pass. The response stays as it came: nothing is
 * returned. Throws `invalidParams` (-32602, in-band) with the path, `params.inputResponses.<key>.action`.
 */
export function assertInputResponse({ key, method, response }: InputResponse): void {
  const parsed = (RESULTS.get(method) ?? jsonObject).safeParse(response);
  if (parsed.success) return;
  const where = pathText("params", ["inputResponses", key]);
  throw wireErrors.invalidParams(`Invalid params: ${problemOf(where, parsed.error)}`);
}
