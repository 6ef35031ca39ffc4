import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { type Socket, connect, createServer } from "node:net";

/** A way to a Redis on loopback whose answers can be made late. */
export interface SlowLink extends AsyncDisposable {
  /** For `PERDURE_REDIS_URL`. */
  readonly url: string;
  /** Holds back every answer from now on for so many milliseconds; 0 for not at all. */
  setDelay(ms: number): void;
}

/** Passes everything on between its port and the one that is given. */
export async function startSlowLink(port: number): Promise<SlowLink> {
  const sockets = new Set<Socket>();
  let delayMs = 0;
  const server = createServer((near) => {
    const far = connect(port, "127.0.0.1");
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => {});
      socket.on("close", () => sockets.delete(socket));
    }
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
    near.pipe(far);
    // One chunk after the other, each as late as it must be.
    let last = Promise.resolve();
    far.on("data", (chunk: Buffer) => {
      last = passOn(chunk, { near, after: last, dueMs: performance.now() + delayMs });
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The link has no port");
  return {
    url: `redis://127.0.0.1:${address.port}`,
    setDelay(ms) {
      delayMs = ms;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

interface Passing {
  readonly near: Socket;
  readonly after: Promise<void>;
  readonly dueMs: number;
}

async function passOn(chunk: Buffer, { near, after, dueMs }: Passing): Promise<void> {
  await after;
  const leftMs = dueMs - performance.now();
  if (leftMs > 0) await delay(leftMs);
  near.write(chunk);
}
