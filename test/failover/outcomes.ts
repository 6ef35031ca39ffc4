import { z } from "zod";
import type { History, SeenTask } from "./history.ts";
import type { SceneKind } from "./scenes.ts";

/*
 * How a task must end, whatever was done to the cluster: no fault may change an outcome.
 */

/** What the end of a task must be, in words, and whether it is. */
interface Wanted {
  readonly words: string;
  readonly isMet: (history: History, end: SeenTask) => boolean;
}

const ECHO: Wanted = { words: "completed with its note and its answers", isMet: isEcho };
const CANCELLED: Wanted = {
  words: "cancelled, or completed before that",
  isMet: (history, end) => end.status === "cancelled" || isEcho(history, end),
};
const EXPIRED: Wanted = {
  words: "failed by expiry",
  isMet: (_, { status, error }) => status === "failed" && error?.message === "Task has expired",
};

const WANTED: Readonly<Record<SceneKind, Wanted>> = {
  plain: ECHO,
  stepped: ECHO,
  "one input": ECHO,
  "two inputs": ECHO,
  reminded: ECHO,
  sleeping: ECHO,
  waited: ECHO,
  cancelled: CANCELLED,
  "cancelled while it asks": CANCELLED,
  outliving: EXPIRED,
  forsaken: EXPIRED,
  failing: { words: "ended as its argument `how` says", isMet: failsAsTold },
  fickle: {
    words: "failed, naming the key",
    isMet: (_, { status, error }) => status === "failed" && (error?.message.includes('"mood"') ?? false),
  },
  large: {
    words: "completed, with all of its bytes",
    isMet: ({ scene }, { status, result }) =>
      status === "completed" && (result?.bytes ?? 0) > Number(scene.args["bytes"]),
  },
};

/** What is wrong with the end that a client saw; undefined when it is as it must be. */
export function wrongEnd(history: History, end: SeenTask): string | undefined {
  const { words, isMet } = WANTED[history.scene.kind];
  if (isMet(history, end)) return undefined;
  return `It must be ${words}, and is ${end.status}: ${end.result?.text ?? end.error?.message ?? end.message ?? ""}`;
}

function failsAsTold({ scene }: History, { status, result, error }: SeenTask): boolean {
  switch (scene.args["how"]) {
    case "tool error":
      return status === "completed" && result?.isError === true && result.text === scene.note;
    case "protocol error":
      return status === "failed" && error?.code === -32602 && error.message === scene.note;
    case "always":
      return status === "failed" && error?.code === -32603 && error.message === "The tool failed";
    default:
      return status === "completed" && result?.isError === false;
  }
}

/** The tool's echo has the note, and to each key one of the answers that were sent. */
function isEcho(history: History, end: SeenTask): boolean {
  const echo = echoOf(end);
  if (echo?.["note"] !== history.scene.note) return false;
  return history.scene.keys.every((key) =>
    history.events.some(({ answers }) => answers !== undefined && answers[key] === echo[key]),
  );
}

/** What the tool returned, when it is short enough to have been kept. */
export function echoOf({ status, result }: SeenTask): Readonly<Record<string, unknown>> | undefined {
  if (status !== "completed" || !result || result.isError) return undefined;
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(result.text));
  } catch {
    return undefined;
  }
}
