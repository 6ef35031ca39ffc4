import { once } from "node:events";
import { createServer } from "node:net";

/** Ports of `host` that nobody listens on, all different. They are free now; whoever wants one takes it soon. */
export async function freePorts(count: number, host: string): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports: number[] = [];
  for (const server of servers) {
    server.listen(0, host);
    await once(server, "listening");
    const address = server.address();
    if (address && typeof address === "object") ports.push(address.port);
  }
  for (const server of servers) server.close();
  return ports;
}
