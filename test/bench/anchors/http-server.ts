import { createServer, type ServerResponse } from "node:http";
import { Redis } from "ioredis";
import { Queue } from "bullmq";
import { portOf, serve } from "../programs/program.ts";

/*
 * The least that a server can be: `node:http`, the body read to its end, one answer. What it does in between is its argument:
 *
 *     canned          nothing: a JSON text that was given before
 *     redis-get URL   one GET, whose value is the answer
 *     add-and-set URL one BullMQ `add` and one SET, then a canned answer
 */

const [kind = "canned", url = ""] = process.argv.slice(2);
const redis = kind === "canned" ? undefined : new Redis(url);
const queue = redis && kind === "add-and-set" ? new Queue("anchor", { connection: redis }) : undefined;
await queue?.waitUntilReady();
let canned = Buffer.from("{}");
let lastId = 0;

async function answer(body: string): Promise<Buffer | string> {
  if (!redis) return canned;
  if (!queue) return (await redis.get("anchor:answer")) ?? "";
  lastId += 1;
  await Promise.all([
    redis.set(`anchor:${process.pid}:${lastId}`, body),
    queue.add("work", { id: lastId }, { removeOnComplete: true, removeOnFail: true }),
  ]);
  return canned;
}

async function send(response: ServerResponse, body: string): Promise<void> {
  const text = await answer(body);
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  response.writeHead(200, { "content-type": "application/json", "content-length": bytes.length });
  response.end(bytes);
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.once("end", () => {
    void send(response, Buffer.concat(chunks).toString());
  });
});
await new Promise<void>((resolve) => {
  server.listen(0, "127.0.0.1", () => resolve());
});

serve({
  port: () => portOf(server.address()),
  async answerWith(text: string) {
    canned = Buffer.from(text);
    await redis?.set("anchor:answer", text);
  },
});
