import { once } from "node:events";
import { type Socket, connect, createServer } from "node:net";

/** A way to Redis on which no published message arrives. */
export interface DeafLink extends AsyncDisposable {
  /** For `PERDURE_REDIS_URL`. */
  readonly url: string;
  /** How many messages were dropped so far. */
  dropped(): number;
}

/** One message of a subscription, as RESP2 or RESP3 has it: a kind, a channel and a text. */
const MESSAGE = /[*>]3\r\n\$7\r\nmessage\r\n\$\d+\r\n[^\r]*\r\n\$\d+\r\n[^\r]*\r\n/g;

/** Passes everything on between its port and the one that is given, but published messages. */
export async function startDeafLink(port: number): Promise<DeafLink> {
  const sockets = new Set<Socket>();
  let dropped = 0;
  const server = createServer((near) => {
    const far = connect(port, "127.0.0.1");
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => {});
    }
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
    near.pipe(far);
    far.on("data", (chunk: Buffer) => {
      const text = chunk.toString("latin1").replaceAll(MESSAGE, () => {
        dropped += 1;
        return "";
      });
      near.write(text, "latin1");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The link has no port");
  return {
    url: `redis://127.0.0.1:${address.port}`,
    dropped: () => dropped,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
