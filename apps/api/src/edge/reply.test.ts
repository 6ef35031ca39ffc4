import type { IncomingMessage } from "node:http";
import { afterEach, expect, test } from "vitest";
import { createHttpServer } from "./http-server.ts";
import type { HttpServer } from "./http-server.ts";
import { Reply, accepts } from "./reply.ts";

let server: HttpServer | undefined;
afterEach(() => server?.stop(0));

test.each([
  [undefined, true],
  ["", true],
  ["*/*", true],
  ["application/json, text/event-stream", true],
  ["TEXT/EVENT-STREAM; charset=utf-8", true],
  ["text/*;q=0.5", true],
  ["application/json", false],
  ["text/event-stream;q=0", false],
  ["text/event-stream;q=0.0, application/json", false],
  ["text/html", false],
])("Accept %s lets an event stream through: %s", (header, expected) => {
  expect(accepts(header, "text/event-stream")).toBe(expected);
});

test("no token is held as long as a stream lasts, and what is said later goes into the stream", async () => {
  const arrived = Promise.withResolvers<{ request: IncomingMessage; reply: Reply }>();
  server = createHttpServer({
    host: "127.0.0.1",
    port: 0,
    handle(request, response) {
      const options = { requestId: "r", nowMs: () => 0, isStopping: () => false };
      const reply = new Reply(request, response, options);
      reply.openStream();
      arrived.resolve({ request, reply });
    },
  });
  const { port } = await server.start();
  const headers = { authorization: "Bearer abc", accept: "text/event-stream" };
  const response = await fetch(`http://127.0.0.1:${port}`, { headers });
  const { request, reply } = await arrived.promise;
  expect(JSON.stringify([request.rawHeaders, request.headers, request.headersDistinct])).not.toContain("abc");
  reply.notify("notifications/later", "{}");
  reply.sendResult(1, "{}");
  expect(await response.text()).toContain("notifications/later");
});
