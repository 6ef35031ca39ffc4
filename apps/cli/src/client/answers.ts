import { createInterface } from "node:readline/promises";
import { z } from "zod";
import { CliError } from "../cli-error.ts";
import { typedValue } from "./tool-arguments.ts";

const field = z.looseObject({
  type: z.string().optional(),
  title: z.string().optional(),
  description: z.string().optional(),
  enum: z.array(z.string()).optional(),
  default: z.unknown().optional(),
});

const formRequest = z.looseObject({
  method: z.literal("elicitation/create"),
  params: z.looseObject({
    message: z.string(),
    requestedSchema: z.looseObject({
      properties: z.record(z.string(), field),
      required: z.array(z.string()).optional(),
    }),
  }),
});

/** Requests that a task or a call has asked, by key. */
export const inputRequests = z.record(z.string(), z.unknown());

/** Responses by key, as `tasks/update` and a retried call take them. */
export type InputResponses = Record<string, unknown>;

/** Answers given beforehand: key to field to text. From words `KEY.field=value`. */
export type GivenAnswers = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** Reads the `--answer` words. */
export function parseAnswers(words: readonly string[]): GivenAnswers {
  const answers = new Map<string, Map<string, string>>();
  for (const word of words) {
    const match = /^([^=]+)\.([^.=]+)=(.*)$/s.exec(word);
    if (!match?.[1] || !match[2]) throw new CliError(`"${word}" is no answer: write KEY.field=value`, 2);
    const fields = answers.get(match[1]) ?? new Map<string, string>();
    answers.set(match[1], fields.set(match[2], match[3] ?? ""));
  }
  return answers;
}

/** Where questions go when no answer was given beforehand. */
export interface Terminal {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
}

/** Answers every request: from what was given, else by asking at the terminal; without a terminal it is an error that names the key. */
export async function answerAll(
  requests: z.infer<typeof inputRequests>,
  given: GivenAnswers,
  terminal: Terminal,
): Promise<InputResponses> {
  const responses: InputResponses = {};
  for (const [key, request] of Object.entries(requests)) {
    const parsed = formRequest.safeParse(request);
    if (!parsed.success)
      throw new CliError(`The server asks for "${key}" in a way that this client cannot answer`, 3);
    const response = await answerForm(key, parsed.data, { given: given.get(key), terminal });
    Object.defineProperty(responses, key, { value: response, enumerable: true });
  }
  return responses;
}

type Form = z.infer<typeof formRequest>;

async function answerForm(
  key: string,
  { params }: Form,
  from: { readonly given: ReadonlyMap<string, string> | undefined; readonly terminal: Terminal },
): Promise<unknown> {
  const fields = Object.entries(params.requestedSchema.properties);
  if (from.given) {
    const content = fields.flatMap(([name, { type }]) => {
      const text = from.given?.get(name);
      return text === undefined ? [] : [[name, typedValue(`${key}.${name}`, text, type)]];
    });
    return { action: "accept", content: Object.fromEntries(content) };
  }
  if (!from.terminal.input.isTTY) {
    const example = `${key}.${fields[0]?.[0] ?? "field"}=value`;
    throw new CliError(`The server asks "${params.message}" (${key}): answer it with --answer ${example}`, 3);
  }
  return askForm(params, from.terminal);
}

async function askForm(params: Form["params"], { input, output }: Terminal): Promise<unknown> {
  const lines = createInterface({ input, output });
  try {
    output.write(`\n${params.message}\n`);
    const required = new Set(params.requestedSchema.required);
    const content: [string, unknown][] = [];
    for (const [name, declared] of Object.entries(params.requestedSchema.properties)) {
      const value = await askField(lines, name, { declared, isRequired: required.has(name) });
      if (value === DECLINED) return { action: "decline" };
      if (value !== undefined) content.push([name, value]);
    }
    return { action: "accept", content: Object.fromEntries(content) };
  } finally {
    lines.close();
  }
}

const DECLINED = Symbol("declined");

async function askField(
  lines: { question(text: string): Promise<string> },
  name: string,
  { declared, isRequired }: { readonly declared: z.infer<typeof field>; readonly isRequired: boolean },
): Promise<unknown> {
  const kind =
    declared.type === "boolean" ? "yes/no" : (declared.enum?.join(" | ") ?? declared.type ?? "text");
  const preset = declared.default === undefined ? "" : ` [${JSON.stringify(declared.default)}]`;
  const label = declared.title ?? declared.description ?? name;
  for (;;) {
    const text = (await lines.question(`  ${label} (${kind}, or "!" to decline)${preset}: `)).trim();
    if (text === "!") return DECLINED;
    if (text === "" && declared.default !== undefined) return declared.default;
    if (text === "" && !isRequired) return undefined;
    const value = readField(text, declared);
    if (value !== undefined) return value;
  }
}

function readField(text: string, { type, enum: choices }: z.infer<typeof field>): unknown {
  if (type === "boolean") {
    if (/^(y|yes|true)$/i.test(text)) return true;
    return /^(n|no|false)$/i.test(text) ? false : undefined;
  }
  if (type === "number" || type === "integer") {
    const number = Number(text);
    return text === "" || !Number.isFinite(number) ? undefined : number;
  }
  if (choices) return choices.includes(text) ? text : undefined;
  return text === "" ? undefined : text;
}
