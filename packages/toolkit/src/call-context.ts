import { AsyncLocalStorage } from "node:async_hooks";
import { canonicalJson } from "./json-text.ts";
import type { Names } from "./names.ts";
import { elicitQuestion, missingCapability, rootsQuestion, sampleQuestion } from "./question.ts";
import type { Question, QuestionReply } from "./question.ts";
import type { RunScope } from "./run.ts";
import type { CallHost } from "./run-host.ts";
import type { CallContext } from "./task-context.ts";

/** The step that the current code runs in, if any, and its run. */
export const currentStep = new AsyncLocalStorage<{ readonly run: RunScope; readonly name: string }>();

/** What the methods of a context stand on. */
export interface ContextParts<Host extends CallHost> {
  readonly host: Host;
  readonly run: RunScope;
  readonly names: Names;
}

/** The context of a preparation, a prompt or a resource; and the questions of a task's. */
export function createCallContext({ host, run, names }: ContextParts<CallHost>): CallContext {
  const ask = <Answer>(method: string, key: string, reply: () => QuestionReply<Answer>): Promise<Answer> =>
    run.method(method, async () => {
      refuseWithinStep(run, `${method}(${JSON.stringify(key)})`);
      const problem = names.use("input", key);
      if (problem !== undefined) throw run.broken(problem);
      const made = reply();
      if (!made.ok) throw run.broken(`${method}(${JSON.stringify(key)}): ${made.problem}`);
      return answerOf(key, made.question);
    });
  const answerOf = <Answer>(key: string, { missing, request, read }: Question<Answer>): Promise<Answer> => {
    const required = missing(host.capabilities);
    if (required) throw missingCapability(required);
    const asked = host.journal.requests.get(key);
    if (asked !== undefined && asked !== request && canonicalJson(asked) !== canonicalJson(request))
      throw run.broken(
        `Another question was asked under the key ${JSON.stringify(key)} before: a key means one request for a task's whole life. Give the new question a key of its own`,
      );
    const answer = host.journal.answers.get(key);
    return answer === undefined
      ? run.awaitAnswer({ key, request: asked ?? request })
      : Promise.resolve(read(key, answer));
  };

  return {
    caller: host.caller,
    signal: host.signal,
    log(level, message, data) {
      if (run.isOpen() && !names.isReplaying()) host.log(level, message, data);
    },
    elicit: (key, elicitation) => ask("elicit", key, () => elicitQuestion(elicitation)),
    sample: (key, request) => ask("sample", key, () => sampleQuestion(request)),
    roots: (key) => ask("roots", key, () => ({ ok: true, question: rootsQuestion })),
  };
}

/** A step holds plain work: what is inside it leaves no trace of its own in the journal, so it could never be replayed. */
export function refuseWithinStep(run: RunScope, method: string): void {
  const step = currentStep.getStore();
  if (step?.run === run)
    throw run.broken(
      `${method} was called inside the step ${JSON.stringify(step.name)}; call it outside of steps`,
    );
}
