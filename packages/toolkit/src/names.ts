import type { RunJournal } from "./run-host.ts";

/** What a name is for. Each kind has names of its own. */
export type NameKind = "step" | "input" | "sleep";

/** The names that one run has used, and those of the journal that it has yet to come to. */
export interface Names {
  /** Uses a name; gives what is wrong with it, for the author. */
  readonly use: (kind: NameKind, name: string) => string | undefined;
  /** True while the run has not come to where an earlier one has been. */
  readonly isReplaying: () => boolean;
}

const MAX_LENGTH = 256;
const LABEL = { step: "step name", input: "key", sleep: "sleep name" } as const satisfies Record<
  NameKind,
  string
>;

/** The names of a run on `journal`. */
export function createNames(journal: Partial<RunJournal>): Names {
  const used = new Set<string>();
  const ahead = new Set(
    [
      [...(journal.steps?.keys() ?? []), ...(journal.failures?.keys() ?? [])]
        .filter((name) => name !== "")
        .map((name) => `step ${name}`),
      [...(journal.requests?.keys() ?? [])].map((name) => `input ${name}`),
      [...(journal.sleeps?.keys() ?? [])].map((name) => `sleep ${name}`),
    ].flat(),
  );
  return {
    use(kind, name) {
      const label = LABEL[kind];
      if (typeof name !== "string" || name === "") return `A ${label} must be a text that is not empty`;
      if (name.length > MAX_LENGTH)
        return `The ${label} ${JSON.stringify(`${name.slice(0, 40)}…`)} has ${name.length} characters; ${MAX_LENGTH} at most`;
      if (/\p{Cc}/u.test(name)) return `The ${label} ${JSON.stringify(name)} has a control character`;
      if (used.has(`${kind} ${name}`))
        return `The ${label} ${JSON.stringify(name)} was used twice; it must be unique within a task's life: put the loop's index in the name`;
      used.add(`${kind} ${name}`);
      ahead.delete(`${kind} ${name}`);
      return undefined;
    },
    isReplaying: () => ahead.size > 0,
  };
}
