import { setTimeout as delay } from "node:timers/promises";
import { ToolError, defineTool } from "@perdure/toolkit";
import { z } from "zod";

/* What a synchronous call can do besides answering: fail, tell how far it is, log, need something of the client. */

const PAUSE_MS = 50;

/** First in the list by its name: the suite checks headers with the first tool, giving no arguments and no capabilities. */
export const about = defineTool({
  name: "about",
  description: "Says what these tools are for.",
  run: () =>
    "generate_report shows what a durable task can do; the other tools are what the official conformance suite calls.",
});

/** Always an error result. */
export const errorHandling = defineTool({
  name: "test_error_handling",
  description: "Returns an error that a model can read.",
  run() {
    throw new ToolError("This tool intentionally returns an error for testing");
  },
});

/** 0, 50 and 100 of 100. */
export const toolWithProgress = defineTool({
  name: "test_tool_with_progress",
  description: "Tells three times how far it is.",
  async run(_, task) {
    for (const done of [0, 50, 100]) {
      await task.progress(`${done} of 100`, { done, total: 100 });
      await delay(PAUSE_MS, undefined, { signal: task.signal });
    }
    return "Done, with progress";
  },
});

/** Three log lines, which only a client that asked for a level gets. */
export const loggingTool = defineTool({
  name: "test_logging_tool",
  description: "Writes three log lines.",
  async run(_, task) {
    task.log("info", "Tool execution started");
    await delay(PAUSE_MS, undefined, { signal: task.signal });
    task.log("info", "Tool processing data");
    await delay(PAUSE_MS, undefined, { signal: task.signal });
    task.log("info", "Tool execution completed");
    return "Done, with logs";
  },
});

/** Refused to a client without sampling, before anything starts. */
export const missingCapability = defineTool({
  name: "test_missing_capability",
  description: "Needs a client that can sample.",
  needs: ["sampling"],
  run: () => "The client can sample",
});

/** Asks in the middle of a streamed answer. */
export const streamingElicitation = defineTool({
  name: "test_streaming_elicitation",
  description: "Tells how far it is, then asks a person.",
  async run(_, task) {
    await task.progress("About to ask", { done: 1, total: 2 });
    const answer = await task.elicit("user_name", {
      message: "What is your name?",
      schema: z.object({ name: z.string() }),
    });
    return answer.action === "accept" ? `Hello, ${answer.content.name}!` : "Hello!";
  },
});

/** `region` is also sent as the header `Mcp-Param-Region`. */
export const headerParam = defineTool({
  name: "test_header_param",
  description: "Takes a parameter that is mirrored into a header.",
  input: z.object({ region: z.string().meta({ "x-mcp-header": "Region" }) }),
  run: ({ region }) => `Region: ${region}`,
});
