import { z } from "zod";
import { createCallContext, currentStep, refuseWithinStep } from "./call-context.ts";
import type { ContextParts } from "./call-context.ts";
import { durationProblem, parseDuration } from "./duration.ts";
import { StepFailed } from "./errors.ts";
import type { JsonValue } from "./json.ts";
import { jsonText } from "./json-text.ts";
import { isDeliberate, knownError } from "./known-error.ts";
import { retryOf } from "./retry.ts";
import type { Run } from "./run.ts";
import type { RunHost, RunOutcome } from "./run-host.ts";
import { readRecord, recordOfError, recordOfValue } from "./step-record.ts";
import type { Duration, TaskContext } from "./task-context.ts";
import type { Tool } from "./tool.ts";

/** What a task's context stands on. */
export interface TaskContextParts extends ContextParts<RunHost> {
  readonly run: Run<RunOutcome>;
  readonly tool: Tool;
}

const MAX_KEPT_MESSAGE = 2_000;

/** The context of one run of a tool's function. */
export function createTaskContext(parts: TaskContextParts): TaskContext<unknown> {
  const { host, run, names, tool } = parts;

  const keep = async (name: string, record: string): Promise<void> => {
    if (run.hasEnded()) return;
    try {
      await host.recordStep(name, record);
    } catch {
      run.end({ kind: "stopped" });
    }
  };

  /** Runs a step that the journal does not have, and keeps how it ended. */
  const perform = async <Value>(
    name: string,
    fn: (signal: AbortSignal) => Value | Promise<Value>,
  ): Promise<Value> => {
    let value: Value;
    try {
      value = await currentStep.run({ run, name }, () => fn(run.signal));
    } catch (error) {
      return giveUpOrTryAgain(name, error);
    }
    const json = value === undefined ? undefined : jsonText(value);
    if (json?.ok === false)
      throw run.broken(
        `The step ${JSON.stringify(name)} returned what JSON cannot keep: the value${json.problem}`,
      );
    await keep(name, recordOfValue(json?.text));
    // What a replay will see, not what the step may still hold and change.
    return json ? JSON.parse(json.text) : value;
  };

  const giveUpOrTryAgain = async (name: string, cause: unknown): Promise<never> => {
    const known = knownError(cause);
    if (isDeliberate(known)) {
      await keep(name, recordOfError(known));
      throw cause;
    }
    const before = host.journal.failures.get(name) ?? 0;
    const again = retryOf(tool.retry, { failed: name, before, cause });
    const message = (cause instanceof Error ? cause.message : String(cause)).slice(0, MAX_KEPT_MESSAGE);
    if (again) run.close(again);
    else await keep(name, recordOfError({ message }));
    throw new StepFailed(name, message, { cause });
  };

  const msOf = (what: string, duration: Duration): number => {
    const ms = parseDuration(duration);
    if (ms === undefined) throw run.broken(durationProblem(what, duration));
    return ms;
  };
  const use = (kind: "step" | "sleep", name: string): void => {
    refuseWithinStep(run, `${kind}(${JSON.stringify(name)})`);
    const problem = names.use(kind, name);
    if (problem !== undefined) throw run.broken(problem);
  };

  return {
    ...createCallContext(parts),
    id: host.id,
    attempt: host.attempt,
    prepared: tool.prepare ? host.prepared : undefined,
    step: <Value extends JsonValue | undefined | void>(
      name: string,
      fn: (signal: AbortSignal) => Value | Promise<Value>,
    ) =>
      run.method("step", async () => {
        use("step", name);
        const record = host.journal.steps.get(name);
        if (record === undefined) return run.whileOpen(run.inFlight(perform(name, fn)));
        const { ok, error } = readRecord(name, record);
        if (error) throw error;
        return z.custom<Value>().parse(ok);
      }),
    sleep: (name, duration) =>
      run.method("sleep", async () => {
        use("sleep", name);
        const durationMs = msOf(`sleep(${JSON.stringify(name)})`, duration);
        const endMs = host.journal.sleeps.get(name);
        const leftMs = endMs === undefined ? durationMs : endMs - host.nowMs();
        if (leftMs <= 0) return undefined;
        if (!host.sleepInPlace) return run.awaitTime({ name, durationMs });
        return run.whileOpen(host.sleepInPlace(leftMs, run.signal));
      }),
    progress: (message, amount) =>
      run.method("progress", async () => {
        if (!names.isReplaying()) host.progress(message, amount);
      }),
    extend: (duration) =>
      run.method("extend", async () => {
        const ms = msOf("extend", duration);
        const extended = host.extend(ms).catch(() => run.end({ kind: "stopped" }));
        return run.whileOpen(run.inFlight(extended));
      }),
  };
}
