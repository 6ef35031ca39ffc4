import { z } from "zod";
import { InvalidAnswer, MissingCapability } from "./errors.ts";
import { isJsonObject } from "./json.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import { jsonText } from "./json-text.ts";
import { problemOf } from "./problem-of.ts";
import { requestedSchemaOf } from "./requested-schema.ts";
import type { ElicitAnswer, Elicitation, Root, SampleAnswer, SampleRequest } from "./task-context.ts";

/** A question to the client: what it needs, what is sent, and how the answer is read. */
export interface Question<Answer> {
  /** What the client must have declared and has not; undefined when it may be asked. */
  readonly missing: (capabilities: JsonObject) => JsonObject | undefined;
  /** The JSON text of `{ method, params }`. The same call makes the same text. */
  readonly request: string;
  /** Throws {@link InvalidAnswer}. */
  readonly read: (key: string, answer: string) => Answer | Promise<Answer>;
}

/** A question, or why it cannot be asked of any client. */
export type QuestionReply<Answer> =
  | { readonly ok: true; readonly question: Question<Answer> }
  | { readonly ok: false; readonly problem: string };

/** `elicitation/create` in form mode (MCP elicitation §Form Mode Elicitation Requests). */
export function elicitQuestion<Schema extends z.ZodObject>({
  message,
  schema,
}: Elicitation<Schema>): QuestionReply<ElicitAnswer<z.output<Schema>>> {
  if (typeof message !== "string" || message === "")
    return { ok: false, problem: "message must say what is asked" };
  const requested = requestedSchemaOf(schema);
  if (!requested.ok) return requested;
  const params = { mode: "form", message, requestedSchema: requested.schema };
  return {
    ok: true,
    question: {
      // An empty object means form mode (MCP elicitation §Capabilities).
      missing: ({ elicitation }) =>
        isJsonObject(elicitation) &&
        (elicitation["form"] !== undefined || Object.keys(elicitation).length === 0)
          ? undefined
          : { elicitation: isJsonObject(elicitation) ? { form: {} } : {} },
      request: JSON.stringify({ method: "elicitation/create", params }),
      async read(key, answer) {
        const { action, content } = parse(key, answer, elicitAnswerSchema);
        if (action !== "accept") return { action };
        const filledIn = await schema.safeParseAsync(content ?? {});
        if (!filledIn.success) throw invalid(key, problemOf(filledIn.error, "content"));
        return { action, content: filledIn.data };
      },
    },
  };
}

/** `sampling/createMessage` (MCP sampling §Creating Messages). */
export function sampleQuestion(params: SampleRequest): QuestionReply<SampleAnswer> {
  const text = jsonText(params);
  if (!text.ok) return { ok: false, problem: `the request${text.problem}` };
  const wantsTools = params["tools"] !== undefined || params["toolChoice"] !== undefined;
  const wantsContext = params["includeContext"] !== undefined && params["includeContext"] !== "none";
  return {
    ok: true,
    question: {
      missing({ sampling }) {
        if (!isJsonObject(sampling)) return { sampling: {} };
        if (wantsTools && sampling["tools"] === undefined) return { sampling: { tools: {} } };
        if (wantsContext && sampling["context"] === undefined) return { sampling: { context: {} } };
        return undefined;
      },
      request: `{"method":"sampling/createMessage","params":${text.text}}`,
      read(key, answer) {
        const { role, content, model, stopReason } = parse(key, answer, sampleAnswerSchema);
        return { role, content, model, ...(stopReason !== undefined && { stopReason }) };
      },
    },
  };
}

/** `roots/list` (MCP roots §Listing Roots). */
export const rootsQuestion: Question<readonly Root[]> = {
  missing: ({ roots }) => (isJsonObject(roots) ? undefined : { roots: {} }),
  request: JSON.stringify({ method: "roots/list", params: {} }),
  read: (key, answer) =>
    parse(key, answer, rootsAnswerSchema).roots.map(({ uri, name }) => ({
      uri,
      ...(name !== undefined && { name }),
    })),
};

/** The error for a client that lacks what a question needs. */
export function missingCapability(required: JsonObject): MissingCapability {
  const names = Object.entries(required).map(([name, value]) =>
    [name, ...(isJsonObject(value) ? Object.keys(value) : [])].join("."),
  );
  return new MissingCapability(
    `The client did not declare the ${names.join(", ")} capability, which this request needs`,
    required,
  );
}

const json = z.custom<JsonValue>((value) => value !== undefined);
const elicitAnswerSchema = z.object({
  action: z.enum(["accept", "decline", "cancel"]),
  content: z.unknown().optional(),
});
const sampleAnswerSchema = z.object({
  role: z.string(),
  content: json,
  model: z.string(),
  stopReason: z.string().optional(),
});
const rootsAnswerSchema = z.object({
  roots: z.array(z.object({ uri: z.string(), name: z.string().optional() })),
});

function parse<Answer>(key: string, answer: string, schema: z.ZodType<Answer>): Answer {
  const parsed = schema.safeParse(JSON.parse(answer));
  if (!parsed.success) throw invalid(key, problemOf(parsed.error));
  return parsed.data;
}

function invalid(key: string, problem: string): InvalidAnswer {
  return new InvalidAnswer(key, `The answer to ${JSON.stringify(key)} is not valid: ${problem}`);
}
