import { createMcpExpressApp } from "@modelcontextprotocol/express";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import { z } from "zod";
import { portOf, serve } from "../programs/program.ts";

/*
 * The official server SDK on Express as its guide sets it up, answering `tasks/get` from memory: no token, no store.
 */

const task = z.looseObject({});
const answerOf = z.object({ result: task });
let answer: z.output<typeof task> = {};

const handler = createMcpHandler(() => {
  const server = new Server({ name: "anchor", version: "0" }, { capabilities: {} });
  server.setRequestHandler(
    "tasks/get",
    { params: z.looseObject({ taskId: z.string() }), result: task },
    () => answer,
  );
  return server;
});
const app = createMcpExpressApp();
const node = toNodeHandler(handler);
app.post("/mcp", (request, response) => void node(request, response, request.body));
const server = app.listen(0, "127.0.0.1");
await new Promise<void>((resolve) => {
  server.once("listening", () => resolve());
});

serve({
  port: () => portOf(server.address()),
  answerWith(text: string) {
    answer = answerOf.parse(JSON.parse(text)).result;
  },
});
