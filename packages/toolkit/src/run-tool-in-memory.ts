import { z } from "zod";
import type { TypedTool } from "./define-tool.ts";
import type { JsonObject } from "./json.ts";
import { createMemory } from "./memory.ts";
import type { InMemoryOptions, Memory, Story } from "./memory.ts";
import { prepareTool, runTool } from "./run-tool.ts";
import type { RpcError, RunOutcome } from "./run-host.ts";

/** How a tool ended in memory, and what it did on the way. */
export interface InMemoryRun<Structured> extends Story {
  /** "stopped" when `signal` was aborted. */
  readonly status: "completed" | "failed" | "cancelled" | "stopped";
  /** The whole `CallToolResult` when completed. */
  readonly result?: JsonObject;
  readonly structuredContent?: Structured;
  /** The text of the result's text content, joined by newlines. */
  readonly text?: string;
  /** True when the result is an error that a model reads. */
  readonly isError: boolean;
  /** What the client gets to see when failed. */
  readonly error?: RpcError;
  /** What was really thrown when failed. A client never sees it. */
  readonly cause?: unknown;
  /** Why, when cancelled. */
  readonly reason?: string;
}

/**
 * Runs a tool to its end with everything around it in memory: no Redis, no server, no waiting. Each question is answered
 * from `answers`, and then the tool is run again from the top, as a worker would; sleeps pass at once, and what failed is
 * tried again at once. Rejects when the tool asks for what `answers` does not have (and no sleep can move it on).
 */
export async function runToolInMemory<Args, Structured>(
  tool: TypedTool<Args, Structured>,
  args: NoInfer<Args>,
  options: InMemoryOptions = {},
): Promise<InMemoryRun<Structured>> {
  const memory = createMemory(tool, options);
  const prepared = await toItsEnd(memory, () => prepareTool(tool, args, memory.worker()));
  const end =
    prepared.kind === "prepared"
      ? await toItsEnd(memory, () => runTool(tool, args, memory.worker(prepared.value)))
      : prepared;
  return { ...presentEnd<Structured>(end), ...memory.story() };
}

/** An outcome after which the tool is run again. */
type Pause = Extract<RunOutcome, { kind: "waiting" | "retry" }>;

async function toItsEnd<End extends { readonly kind: string }>(
  memory: Memory,
  run: () => Promise<End | Pause>,
): Promise<End> {
  for (;;) {
    const outcome = await run();
    if (isPause(outcome)) await memory.moveOn(outcome);
    else if (outcome.kind !== "stopped" || !memory.takeCrash()) return outcome;
  }
}

function isPause(outcome: { readonly kind: string }): outcome is Pause {
  return outcome.kind === "waiting" || outcome.kind === "retry";
}

/** How a run in memory ends. */
type End = Exclude<RunOutcome, Pause>;

function presentEnd<Structured>(end: End): Omit<InMemoryRun<Structured>, keyof Story> {
  switch (end.kind) {
    case "completed": {
      const { isError = false, structuredContent, content } = completedSchema.parse(end.result);
      const texts = content.flatMap(({ text }) => (text === undefined ? [] : [text]));
      return {
        status: "completed",
        result: end.result,
        isError,
        ...(structuredContent !== undefined && {
          structuredContent: z.custom<Structured>().parse(structuredContent),
        }),
        ...(texts.length > 0 && { text: texts.join("\n") }),
      };
    }
    case "failed":
      return { status: "failed", isError: false, error: end.error, cause: end.cause };
    case "cancelled":
      return { status: "cancelled", isError: false, reason: end.reason };
    case "stopped":
    default:
      return { status: "stopped", isError: false };
  }
}

const completedSchema = z.object({
  isError: z.boolean().optional(),
  structuredContent: z.unknown().optional(),
  content: z.array(z.object({ text: z.string().optional() })),
});
