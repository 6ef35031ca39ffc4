import type { Attack } from "./attack.ts";
import { MACHINE } from "./replica-bench.ts";
import type { Victims } from "./victims.ts";

/** What an attack got. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** All of the body, or what had come of a stream when it was hung up. */
  readonly body: string;
  /** Hung up from here: the answer is a stream, or takes longer than an attacker waits. */
  readonly isCut: boolean;
}

const ALLOWED: ReadonlySet<number> = new Set([200, 202, 400, 401, 403, 404, 405, 406, 413, 415, 417, 429]);
const MAX_ERROR_LENGTH = 8192;
/** An internal error that says why: a limit, or the call's deadline. Every other one is a fault of ours. */
const EXPLAINED =
  /^(?:Too many requests|This task is polled too fast|The tenant has|This replica has too many|The call took longer)/;

/** What is wrong with an answer, one line each; none when all is well. */
export function verdictOn(
  attack: Attack,
  answer: Answer,
  world: { readonly victims: Victims; readonly dir: string },
): string[] {
  const { status, headers, body, isCut } = answer;
  const problems: string[] = [];
  const told = `${JSON.stringify(headers)}\n${body}`;
  for (const secret of world.victims.leaksIn(told)) problems.push(`tells another's secret ${secret}`);
  for (const word of [world.dir, ...MACHINE])
    if (told.includes(word) && !attack.bodyText.includes(word))
      problems.push(`tells of the machine: ${word}`);
  if (status === 0) return isCut ? problems : [...problems, "no answer"];
  if (!ALLOWED.has(status)) problems.push(`the status ${status}`);
  if (status === 401 && headers["www-authenticate"] === undefined) problems.push("401 without a challenge");
  if (status === 429 && headers["retry-after"] === undefined) problems.push("429 without Retry-After");
  if (isCut || status === 417) return problems;
  if (status === 202) return body === "" ? problems : [...problems, "202 with a body"];
  return [...problems, ...messageProblems(attack, answer)];
}

function messageProblems(attack: Attack, { status, headers, body }: Answer): string[] {
  const isStream = String(headers["content-type"]).startsWith("text/event-stream");
  const texts = isStream ? eventsOf(body) : [body];
  const messages: unknown[] = [];
  try {
    messages.push(...texts.map((text): unknown => JSON.parse(text)));
  } catch {
    return [`no JSON: ${body.slice(0, 200)}`];
  }
  const last = messages.at(-1);
  if (typeof last !== "object" || last === null || !("jsonrpc" in last) || last.jsonrpc !== "2.0")
    return ["no JSON-RPC"];
  const problems: string[] = [];
  const sent = sentId(attack.bodyText);
  const id = "id" in last ? last.id : undefined;
  if (id !== undefined && id !== sent) problems.push(`the id ${JSON.stringify(id)} was not sent`);
  const hasResult = "result" in last;
  if (hasResult === "error" in last) problems.push("neither or both of result and error");
  if (hasResult && status !== 200) problems.push(`a result with ${status}`);
  if (hasResult && id === undefined) problems.push("a result without an id");
  if ("error" in last) problems.push(...errorProblems(last.error, body));
  return problems;
}

function errorProblems(error: unknown, body: string): string[] {
  if (typeof error !== "object" || error === null || !("code" in error) || !("message" in error))
    return ["the error has no code or no message"];
  const { code, message } = error;
  if (!Number.isInteger(code) || typeof message !== "string")
    return ["the error's code or message is of no use"];
  const problems = body.length > MAX_ERROR_LENGTH ? [`an error of ${body.length} characters`] : [];
  if (code === -32603 && !EXPLAINED.test(message)) problems.push(`an internal error: ${message}`);
  return problems;
}

function eventsOf(body: string): string[] {
  return body
    .split("\n\n")
    .map((event) =>
      event
        .split("\n")
        .filter((line) => line.startsWith("data: "))
        .map((line) => line.slice(6))
        .join("\n"),
    )
    .filter((data) => data !== "");
}

function sentId(text: string): unknown {
  try {
    // A byte order mark before JSON may be ignored (RFC 8259 §8.1), and is.
    const message: unknown = JSON.parse(text.replace(/^\ufeff/, ""));
    return typeof message === "object" && message !== null && "id" in message ? message.id : undefined;
  } catch {
    return undefined;
  }
}
