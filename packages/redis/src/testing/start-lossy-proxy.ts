import { createServer, connect } from "node:net";
import type { Server, Socket } from "node:net";

/** A way to a Redis on loopback that can lose what comes back. */
export interface LossyProxy extends AsyncDisposable {
  readonly url: string;
  /** Breaks the connection that next carries `text` towards Redis, once the reply to it is there, and drops the reply. */
  loseReplyTo(text: string): Promise<void>;
  /** Breaks all connections; new ones are taken. */
  breakAll(): void;
}

/** Starts a proxy in front of the server on `port`. */
export async function startLossyProxy(port: number): Promise<LossyProxy> {
  const sockets = new Set<Socket>();
  let doomed: { readonly text: string; readonly done: () => void } | undefined;

  const server = createServer((client) => {
    const redis = connect(port, "127.0.0.1");
    let isDoomed = false;
    for (const socket of [client, redis]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        redis.destroy();
      });
    }
    client.on("data", (chunk) => {
      if (doomed !== undefined && chunk.includes(doomed.text)) isDoomed = true;
      redis.write(chunk);
    });
    redis.on("data", (chunk) => {
      if (!isDoomed) {
        client.write(chunk);
        return;
      }
      client.destroy();
      doomed?.done();
      doomed = undefined;
    });
  });
  const ownPort = await listen(server);

  return {
    url: `redis://127.0.0.1:${ownPort}`,
    loseReplyTo(text) {
      const lost = Promise.withResolvers<void>();
      doomed = { text, done: lost.resolve };
      return lost.promise;
    },
    breakAll() {
      for (const socket of sockets) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      if (address === null || typeof address === "string") reject(new Error("The proxy has no port"));
      else resolve(address.port);
    });
  });
}
