import { connect } from "node:net";

/** What a server says of itself. `runId` is random, one per start of a server. */
export interface ServerIdentity {
  readonly runId: string;
  readonly processId: number;
}

/**
 * Asks the server on a loopback port who it is, over a connection of its own (inline `PING` and `INFO server`).
 * Undefined when nothing answers in time, it is no Redis, or it is still loading its data.
 */
export function askServer(port: number, timeoutMs = 1_000): Promise<ServerIdentity | undefined> {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect({ host: "127.0.0.1", port });
    const finish = (identity: ServerIdentity | undefined): void => {
      socket.destroy();
      resolve(identity);
    };
    socket.setTimeout(timeoutMs, () => finish(undefined));
    socket.once("error", () => finish(undefined));
    socket.once("close", () => finish(undefined));
    socket.once("connect", () => socket.write("PING\r\nINFO server\r\n"));
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      text += chunk;
      if (!"+PONG\r\n".startsWith(text.slice(0, 7))) return finish(undefined);
      const runId = /^run_id:([0-9a-f]+)\r$/m.exec(text)?.[1];
      const processId = /^process_id:(\d+)\r$/m.exec(text)?.[1];
      if (runId !== undefined && processId !== undefined) finish({ runId, processId: Number(processId) });
    });
  });
}
