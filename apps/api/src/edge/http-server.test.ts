import { connect } from "node:net";
import type { Socket } from "node:net";
import { request } from "node:http";
import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { createHttpServer } from "./http-server.ts";
import type { HttpServer, HttpServerOptions } from "./http-server.ts";

const servers: HttpServer[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) await server.stop(0);
});

async function serve(handle: HttpServerOptions["handle"], more: Partial<HttpServerOptions> = {}) {
  const server = createHttpServer({ host: "127.0.0.1", port: 0, handle, ...more });
  servers.push(server);
  return { server, port: (await server.start()).port };
}

/** A connection, and all that came over it until it was closed. */
function open(port: number) {
  const socket = connect(port, "127.0.0.1");
  sockets.push(socket);
  let text = "";
  socket.on("data", (chunk) => (text += String(chunk)));
  socket.on("error", () => {});
  const closed = new Promise<string>((resolve) => {
    socket.once("close", () => resolve(text));
  });
  return { socket, closed };
}

const GET = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

describe("stop", () => {
  test("lets a response in hand end, takes nothing new, and closes what is idle", async () => {
    const arrived = Promise.withResolvers<ServerResponse>();
    const { server, port } = await serve((_request, response) => arrived.resolve(response));
    const silent = open(port);
    const busy = open(port);
    busy.socket.write(GET);
    const response = await arrived.promise;
    const stopped = server.stop(5000);
    expect([server.isStopping, server.isListening]).toEqual([true, false]);
    await silent.closed;
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow("fetch failed");
    response.end("whole");
    expect(await busy.closed).toContain("whole");
    await stopped;
  });

  test("drops what has not ended by the deadline, and may be called twice", async () => {
    const { server, port } = await serve((_request, response) => response.write("part"));
    const { socket, closed } = open(port);
    socket.write(GET);
    await new Promise((resolve) => socket.once("data", resolve));
    const started = performance.now();
    await Promise.all([server.stop(50), server.stop(50)]);
    await closed;
    expect(performance.now() - started).toBeLessThan(2000);
  });
});

describe("a client that is slow or hostile", () => {
  const hasty = { readWithinMs: { headers: 100, request: 200 } };

  test.each(["GET / HT", "GET / HTTP/1.1\r\nHost: localhost\r\nX: "])(
    "headers that never end are 408: %j",
    async (text) => {
      const { port } = await serve(() => {}, hasty);
      const { socket, closed } = open(port);
      socket.write(text);
      expect(await closed).toMatch(/^HTTP\/1\.1 408 /);
    },
  );

  test("a body that never ends is 408", async () => {
    const { port } = await serve((incoming) => incoming.resume(), hasty);
    const { socket, closed } = open(port);
    socket.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n12345");
    expect(await closed).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("a response that lasts is not cut by the time for reading", async () => {
    const { port } = await serve((_request, response) => {
      response.write("first ");
      setTimeout(() => response.end("last"), 600);
    }, hasty);
    const text = await new Promise<string>((resolve, reject) => {
      request({ port, host: "127.0.0.1", agent: false }, (response) => {
        let all = "";
        response.on("data", (chunk) => (all += String(chunk))).on("end", () => resolve(all));
      })
        .on("error", reject)
        .end();
    });
    expect(text).toBe("first last");
  });

  test("pipelined requests are answered in their order", async () => {
    const { port } = await serve((incoming, response) => {
      const wait = incoming.url === "/a" ? 30 : 0;
      setTimeout(() => response.end(`<${incoming.url}>`), wait);
    });
    const { socket, closed } = open(port);
    const ask = (path: string, more = ""): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`;
    socket.write(ask("/a") + ask("/b") + ask("/c", "Connection: close\r\n"));
    expect((await closed).match(/<[^>]+>/g)).toEqual(["</a>", "</b>", "</c>"]);
  });

  test("rubbish behind a request that is being answered ends the connection, not the process", async () => {
    const { port } = await serve((_request, response) => response.write("part"));
    const { socket, closed } = open(port);
    socket.write(GET);
    await new Promise((resolve) => socket.once("data", resolve));
    socket.write("\0\0\0\r\n\r\n");
    expect(await closed).not.toContain("400 Bad Request");
  });
});
