import { z } from "zod";

/** One line of what a tool did, as it stands in the file of its process. */
export const toolLine = z.object({
  /** Milliseconds since the epoch, by the machine's clock, which is Redis' own. */
  at: z.number(),
  pid: z.number(),
  task: z.string(),
  /** One run of the function, from the top. */
  run: z.string(),
  /** The function begins, a step begins, a step's value is kept. */
  what: z.enum(["run", "begin", "kept"]),
  step: z.string(),
});

/** One {@link toolLine}. */
export type ToolLine = Readonly<z.infer<typeof toolLine>>;
