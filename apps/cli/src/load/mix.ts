import { CliError } from "../cli-error.ts";

/** What a task may be: the name of a `load_*` tool without that prefix. */
export const KINDS = ["plain", "stepped", "input", "sleep"] as const;

/** One of {@link KINDS}. */
export type Kind = (typeof KINDS)[number];

/** Weights by name; all together at least 1. */
export type Weights<Name extends string> = ReadonlyMap<Name, number>;

/** Reads `plain=4,stepped=2,input=1`. Throws a {@link CliError} for a kind that there is not, or no weight at all. */
export function parseMix(text: string): Weights<Kind> {
  const weights = new Map<Kind, number>();
  for (const part of text
    .split(",")
    .map((one) => one.trim())
    .filter(Boolean)) {
    const [name = "", weight = "1"] = part.split("=");
    const kind = KINDS.find((known) => known === name);
    if (kind === undefined)
      throw new CliError(`"${name}" is no kind of load: there are ${KINDS.join(", ")}`, 2);
    if (!/^\d{1,6}$/.test(weight)) throw new CliError(`"${part}" has no weight: write ${kind}=2`, 2);
    weights.set(kind, Number(weight));
  }
  if (sum(weights) === 0) throw new CliError("The mix is empty: write --mix plain=4,stepped=2", 2);
  return weights;
}

/**
 * Gives names by their weights, evenly and without chance: any stretch of calls has the right shares
 * (smooth weighted round robin).
 */
export function takeTurns<Name extends string>(weights: Weights<Name>): () => Name {
  const total = sum(weights);
  const credits = new Map([...weights.keys()].map((name) => [name, 0]));
  return () => {
    let best: Name | undefined;
    for (const [name, weight] of weights) {
      credits.set(name, (credits.get(name) ?? 0) + weight);
      if (best === undefined || (credits.get(name) ?? 0) > (credits.get(best) ?? 0)) best = name;
    }
    if (best === undefined) throw new RangeError("There is nothing to take turns with");
    credits.set(best, (credits.get(best) ?? 0) - total);
    return best;
  };
}

function sum(weights: ReadonlyMap<string, number>): number {
  return [...weights.values()].reduce((total, weight) => total + weight, 0);
}
