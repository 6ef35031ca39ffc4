import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { createCommandLink } from "./command-link.ts";
import { until } from "@perdure/testkit";

test("what is asked in one turn reaches Redis in one piece, and what is asked later waits for no reply", async () => {
  const pieces: string[] = [];
  const server = createServer((socket) => socket.on("data", (piece) => pieces.push(String(piece))));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  // It says nothing of itself when it connects, and asks nothing: nobody answers here.
  const silent = { protocol: 2, enableReadyCheck: false, disableClientInfo: true } as const;
  const redis = new Redis({ port, lazyConnect: true, ...silent });
  try {
    await redis.connect();
    const link = createCommandLink(redis, 60_000);
    const ask = (key: string): void => void link.call((connected) => connected.get(key)).catch(() => {});
    for (let at = 0; at < 100; at += 1) ask(`first-${at}`);
    await nextTurn();
    ask("second");
    await until(() => pieces.join("").includes("second"), { what: "the second turn's command to come" });
    const first = pieces.filter((piece) => piece.includes("first-"));
    expect(first).toHaveLength(1);
    expect(first[0]).toContain("first-99");
  } finally {
    redis.disconnect();
    server.close();
  }
});
