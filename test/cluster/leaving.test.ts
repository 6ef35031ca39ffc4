import { startCluster, until } from "@perdure/testkit";
import { expect, test } from "vitest";

test("I16: a replica that is told to stop says so at once, serves on for its delay with connections that close, then ends", async () => {
  await using cluster = await startCluster({
    replicas: 1,
    workers: 0,
    env: { PERDURE_SHUTDOWN_DELAY_MS: "2000" },
  });
  const [replica] = cluster.replicas;
  if (!replica) throw new Error("There is no replica");
  const headers = {
    authorization: `Bearer ${await cluster.token()}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/list",
  };
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta } });
  const list = async (): Promise<readonly [number, string | null]> => {
    const response = await fetch(replica.url, { method: "POST", headers, body });
    await response.arrayBuffer();
    return [response.status, response.headers.get("connection")];
  };

  expect(await list()).toEqual([200, "keep-alive"]);
  replica.signal("SIGTERM");
  const told = await until(
    async () => {
      const ready = await fetch(`${replica.opsUrl}/readyz`);
      const text = await ready.text();
      return ready.status === 503 ? text : undefined;
    },
    { what: "the replica to say that it is not ready" },
  );
  expect(told).toContain("stopping");
  expect(await list()).toEqual([200, "close"]);
  expect(await replica.exited).toBe(0);
});
