import { assertInputResponse, isJsonObject, ownMember } from "@perdure/protocol";
import type { JsonObject, JsonValue } from "@perdure/protocol";
import type { InputRequest } from "@perdure/toolkit/host";
import { z } from "zod";

/** What a call without a task has already done; it travels in the sealed `requestState`. */
export interface CallJournal {
  readonly requests: Map<string, string>;
  readonly answers: Map<string, string>;
  readonly steps: Map<string, string>;
  /** Nothing is put here: a replica sleeps in place. */
  readonly sleeps: Map<string, number>;
  readonly failures: Map<string, number>;
}

const texts = z.array(z.tuple([z.string(), z.string()]));
const numbers = z.array(z.tuple([z.string(), z.number()]));

/** A journal as it is sealed: entries, because a key may be `__proto__`. */
export const journalSchema = z.object({ requests: texts, answers: texts, steps: texts, failures: numbers });

/** A journal from its sealed form; an empty one from nothing. */
export function openJournal(sealed?: z.output<typeof journalSchema>): CallJournal {
  return {
    requests: new Map(sealed?.requests),
    answers: new Map(sealed?.answers),
    steps: new Map(sealed?.steps),
    sleeps: new Map(),
    failures: new Map(sealed?.failures),
  };
}

/** The form to seal. */
export function journalValue({ requests, answers, steps, failures }: CallJournal): JsonObject {
  return { requests: [...requests], answers: [...answers], steps: [...steps], failures: [...failures] };
}

/** Notes what is being asked. */
export function noteRequests(journal: CallJournal, requests: readonly InputRequest[]): void {
  for (const { key, request } of requests) journal.requests.set(key, request);
}

/**
 * Takes a client's responses. The first answer to a key counts. In a continued call only keys that were asked count, and
 * each response must have the shape that its request asks for; a call that begins with answers may name any key, and what
 * nobody asks for is never looked at (MCP mrtr §Error Handling). Throws `invalidParams`.
 */
export function takeAnswers(journal: CallJournal, responses: JsonObject | undefined): void {
  const isContinued = journal.requests.size > 0;
  for (const [key, response] of Object.entries(responses ?? {})) {
    const request = journal.requests.get(key);
    if ((isContinued && request === undefined) || journal.answers.has(key)) continue;
    assertInputResponse({ key, method: methodOf(request), response });
    journal.answers.set(key, JSON.stringify(response));
  }
}

function methodOf(request: string | undefined): string {
  if (request === undefined) return "";
  const parsed: unknown = JSON.parse(request);
  const method: JsonValue | undefined = isJsonObject(parsed) ? ownMember(parsed, "method") : undefined;
  return typeof method === "string" ? method : "";
}
