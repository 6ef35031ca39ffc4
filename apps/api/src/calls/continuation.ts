import { digestOf, wireErrors } from "@perdure/protocol";
import type { JsonObject, JsonValue, StateBinding, StateSeal } from "@perdure/protocol";
import { z } from "zod";
import type { Call } from "../methods/method.ts";
import { journalSchema, journalValue, openJournal } from "./call-journal.ts";
import type { CallJournal } from "./call-journal.ts";

/**
 * Where a call goes on that ended with `input_required` (MCP mrtr).
 *
 * - `prepare`: before the tool, or in a prompt or a resource.
 * - `run`: in the tool, in a replica; `prepared` is what the preparation gave.
 * - `task`: in a durable task that its client cannot see.
 */
export type Continuation =
  | { readonly stage: "prepare"; readonly journal: CallJournal }
  | {
      readonly stage: "run";
      readonly callId: string;
      readonly prepared: JsonValue;
      readonly journal: CallJournal;
    }
  | { readonly stage: "task"; readonly taskId: string };

/** Seals continuations into `requestState` and opens them, bound to the caller and the request. */
export interface Continuations {
  /** The stage to go on with: `prepare` with an empty journal when there is no state. Throws `invalidParams`. */
  open(call: Call, subject: JsonObject, requestState: string | undefined): Continuation;
  /** Throws `invalidParams` when there is more to keep than a state can hold. */
  seal(call: Call, subject: JsonObject, continuation: Continuation): string;
}

const continuationSchema = z.discriminatedUnion("stage", [
  z.object({ stage: z.literal("prepare"), journal: journalSchema }),
  z.object({ stage: z.literal("run"), callId: z.string(), prepared: z.json(), journal: journalSchema }),
  z.object({ stage: z.literal("task"), taskId: z.string() }),
]);

const REFUSALS = {
  invalid: "params.requestState: not a state of this server, or changed on the way",
  mismatch: "params.requestState: made for another caller or another request",
  expired: "params.requestState: expired; make the call again without it",
} as const;

/** {@link Continuations} on a seal. A state is good for `ttlMs`. */
export function createContinuations(seal: StateSeal, ttlMs: number): Continuations {
  return {
    open(call, subject, requestState) {
      if (requestState === undefined) return { stage: "prepare", journal: openJournal() };
      const opened = seal.open(requestState, bindingOf(call, subject));
      if (opened.verdict !== "open")
        throw wireErrors.invalidParams(`Invalid params: ${REFUSALS[opened.verdict]}`);
      const parsed = continuationSchema.safeParse(opened.value);
      if (!parsed.success) throw wireErrors.invalidParams(`Invalid params: ${REFUSALS.invalid}`);
      const state = parsed.data;
      return state.stage === "task" ? state : { ...state, journal: openJournal(state.journal) };
    },
    seal(call, subject, continuation) {
      const value =
        continuation.stage === "task"
          ? { ...continuation }
          : { ...continuation, journal: journalValue(continuation.journal) };
      return seal.seal(value, bindingOf(call, subject), ttlMs);
    },
  };
}

/** `subject` is what the request is about: `{ name, arguments }` of a tool or a prompt, `{ uri }` of a resource. */
function bindingOf({ owner, method }: Call, subject: JsonObject): StateBinding {
  return { ...owner, method, digest: digestOf(subject) };
}
