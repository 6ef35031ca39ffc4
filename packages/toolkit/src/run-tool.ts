import { createTaskContext } from "./create-task-context.ts";
import { isJsonObject } from "./json.ts";
import { jsonText } from "./json-text.ts";
import { createNames } from "./names.ts";
import { failed, outcomeOfThrown } from "./outcome-of.ts";
import { retryOf } from "./retry.ts";
import { createRun } from "./run.ts";
import { returnedBy, runCall } from "./run-call.ts";
import type { CallHost, PrepareOutcome, RunHost, RunOutcome } from "./run-host.ts";
import type { Parsed, Tool } from "./tool.ts";

/**
 * Runs a tool's function once from the top, with what the journal holds read back instead of done again. `args` are the
 * call's arguments as the client sent them; they are validated here. Never rejects, and holds nothing once it resolves:
 * a function that goes on by itself can do nothing more through its context.
 */
export async function runTool(tool: Tool, args: unknown, host: RunHost): Promise<RunOutcome> {
  const input = inputOf(tool, args);
  if (!input.ok) return failed({ code: -32602, message: input.problem });
  const run = createRun<RunOutcome>(host.signal);
  if (!run.isOpen()) return run.outcome;

  const task = createTaskContext({ host, run, names: createNames(host.journal), tool });
  void returnedBy(async () => tool.run(input.value, task)).then((end) => {
    if ("returned" in end) return run.end(resultOf(tool, end.returned));
    const { thrown: cause } = end;
    const outcome = outcomeOfThrown(cause);
    if (outcome) return run.end(outcome);
    const before = host.journal.failures.get("") ?? 0;
    const again = retryOf(tool.retry, { failed: "", before, cause });
    return again ? run.close(again) : run.end(failed({ code: -32603, message: "The tool failed" }, cause));
  });
  return run.outcome;
}

/**
 * Runs a tool's `prepare`, in the call and before a task exists; a tool without one is prepared at once, with null.
 * `args` are the call's arguments as the client sent them. Nothing is tried again. Never rejects.
 */
export async function prepareTool(tool: Tool, args: unknown, host: CallHost): Promise<PrepareOutcome> {
  const input = inputOf(tool, args);
  if (!input.ok) return failed({ code: -32602, message: input.problem });
  const { prepare } = tool;
  if (!prepare) return { kind: "prepared", value: null };
  return runCall<PrepareOutcome>("The tool", host, {
    call: (context) => prepare(input.value, context),
    outcomeOf(returned) {
      const json = jsonText(returned);
      return json.ok
        ? { kind: "prepared", value: JSON.parse(json.text) }
        : failed({
            code: -32603,
            message: `prepare returned what JSON cannot keep: the value${json.problem}`,
          });
    },
  });
}

function inputOf(tool: Tool, args: unknown): Parsed {
  const parsed = tool.parseInput(args ?? {});
  return parsed.ok ? parsed : { ok: false, problem: `Invalid arguments: ${parsed.problem}` };
}

function resultOf(tool: Tool, returned: unknown): RunOutcome {
  try {
    const parsed = tool.parseResult(returned);
    if (parsed.ok && isJsonObject(parsed.value)) return { kind: "completed", result: parsed.value };
    const problem = parsed.ok ? "" : `: ${parsed.problem}`;
    return failed({ code: -32603, message: `The tool's result does not match its output schema${problem}` });
  } catch (error) {
    return failed({ code: -32603, message: "The tool's result could not be checked" }, error);
  }
}
