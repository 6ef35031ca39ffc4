import { z } from "zod";
import { CliError } from "../cli-error.ts";
import {
  type GivenAnswers,
  type Terminal,
  answerAll,
  inputRequests,
  parseAnswers,
} from "../client/answers.ts";
import { type TaskView, followTask } from "../client/follow-task.ts";
import type { McpClient, ServerMessage, ServerResult } from "../client/mcp-client.ts";
import { prepareCall } from "../client/tool-arguments.ts";
import { type ConnectOptions, connect } from "./connect.ts";

/** Options of `perdure call` and `perdure watch`. */
export interface CallOptions extends ConnectOptions {
  readonly watch?: boolean | undefined;
  readonly detach?: boolean | undefined;
  readonly answer: readonly string[];
}

/** What a command talks to: results go to `out`, everything else to `err`. */
export interface Screen {
  readonly env: NodeJS.ProcessEnv;
  readonly out: NodeJS.WritableStream;
  readonly err: NodeJS.WriteStream;
  readonly input: NodeJS.ReadStream;
}

/** `perdure call TOOL key=value …`: calls, shows progress, asks when input is needed, and prints the result. */
export async function call(
  [tool, ...words]: readonly [string, ...string[]],
  options: CallOptions,
  screen: Screen,
): Promise<void> {
  const client = await connect(options, screen.env);
  const given = parseAnswers(options.answer);
  const prepared = await prepareCall(client, tool, words);
  const result = await callToEnd(client, { tool, ...prepared }, { given, screen });
  if (result.resultType !== "task") return printResult(result, screen);
  const { taskId } = z.looseObject({ taskId: z.string() }).parse(result);
  if (options.detach) return void screen.out.write(`${taskId}\n`);
  screen.err.write(`task ${taskId}\n`);
  return follow(client, taskId, { options, given, screen });
}

/** `perdure watch TASK_ID`: follows a task to its end, as `call` does. */
export async function watch(taskId: string, options: CallOptions, screen: Screen): Promise<void> {
  const client = await connect(options, screen.env);
  return follow(client, taskId, { options, given: parseAnswers(options.answer), screen });
}

/** `perdure tasks cancel TASK_ID`. */
export async function cancelTask(taskId: string, options: ConnectOptions, screen: Screen): Promise<void> {
  const client = await connect(options, screen.env);
  await client.call({ method: "tasks/cancel", name: taskId, params: { taskId } });
  screen.err.write(`cancel of ${taskId} is acknowledged\n`);
}

interface Call {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
}

interface Answering {
  readonly given: GivenAnswers;
  readonly screen: Screen;
}

/** Calls until the answer is no more "input_required" (MRTR): each round carries the responses and the state of the last. */
async function callToEnd(
  client: McpClient,
  called: Call,
  { given, screen }: Answering,
): Promise<ServerResult> {
  const asked = z.looseObject({
    inputRequests: inputRequests.optional(),
    requestState: z.string().optional(),
  });
  let round: Record<string, unknown> = {};
  for (;;) {
    const params = { name: called.tool, arguments: called.args, ...round };
    const request = { method: "tools/call", name: called.tool, headers: called.headers, params };
    const result = await client.call(request, (notification) => showProgress(notification, screen));
    if (result.resultType !== "input_required") return result;
    const { inputRequests: requests = {}, requestState } = asked.parse(result);
    const inputResponses = await answerAll(requests, given, terminalOf(screen));
    round = { inputResponses, ...(requestState === undefined ? {} : { requestState }) };
  }
}

async function follow(
  client: McpClient,
  taskId: string,
  { options, given, screen }: Answering & { readonly options: CallOptions },
): Promise<void> {
  let shown = "";
  const task = await followTask(client, taskId, {
    onChange(state) {
      if (options.watch) screen.out.write(`${JSON.stringify(state)}\n`);
      const line = [state.status, state.statusMessage].filter(Boolean).join(": ");
      if (!options.watch && line !== shown) screen.err.write(`${line}\n`);
      shown = line;
    },
    answer: (requests) => answerAll(requests, given, terminalOf(screen)),
  }).catch((error: unknown) => {
    // The task waits on, whatever became of this command.
    if (error instanceof CliError && error.exitCode === 3)
      screen.err.write(`It waits. Go on with: perdure watch ${taskId}\n`);
    throw error;
  });
  failUnlessCompleted(task);
  if (!options.watch) return printResult(task.result ?? {}, screen);
  failIfError(task.result ?? {});
}

function failUnlessCompleted(task: TaskView): void {
  if (task.status === "failed")
    throw new CliError(`The task failed: ${task.error?.message} (${task.error?.code})`);
  if (task.status === "cancelled")
    throw new CliError(`The task was cancelled: ${task.statusMessage ?? "no reason given"}`);
}

const callToolResult = z.looseObject({
  structuredContent: z.unknown().optional(),
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })).default([]),
  isError: z.boolean().optional(),
});

/** A tool's own error ends with exit code 1, shown or not. */
function failIfError(value: unknown): void {
  const result = callToolResult.parse(value);
  if (result.isError) throw new CliError(`The tool reports an error: ${textOf(result)}`);
}

function textOf({ content }: z.infer<typeof callToolResult>): string {
  return content.map((block) => block.text ?? JSON.stringify(block)).join("\n");
}

/** Structured content as JSON, else the text blocks. */
function printResult(value: unknown, { out }: Screen): void {
  failIfError(value);
  const result = callToolResult.parse(value);
  out.write(
    result.structuredContent === undefined
      ? `${textOf(result)}\n`
      : `${JSON.stringify(result.structuredContent, null, 2)}\n`,
  );
}

function showProgress({ method, params }: ServerMessage, { err }: Screen): void {
  if (method !== "notifications/progress") return;
  const { progress, total, message } = z
    .looseObject({ progress: z.number(), total: z.number().optional(), message: z.string().optional() })
    .parse(params);
  err.write(`${message ?? "progress"} (${progress}${total === undefined ? "" : ` of ${total}`})\n`);
}

function terminalOf({ input, err }: Screen): Terminal {
  return { input, output: err };
}
