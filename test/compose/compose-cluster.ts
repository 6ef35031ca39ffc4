import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createWireClient, freePort, until } from "@perdure/testkit";
import type { WireClient } from "@perdure/testkit";
import { DockerComposeEnvironment, Wait } from "testcontainers";
import { z } from "zod";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A service of docker-compose.yml. */
export type ComposeService = "api" | "worker" | "redis" | "balancer";

/** The local cluster of docker-compose.yml under a project name of its own, and an operator's commands on it. */
export interface ComposeCluster extends AsyncDisposable {
  /** The MCP endpoint behind the balancer. */
  readonly url: string;
  client(identity?: { readonly tenant?: string; readonly principal?: string }): Promise<WireClient>;
  /** A token of the cluster's development issuer, good for an hour. */
  token(identity?: { readonly tenant?: string; readonly principal?: string }): Promise<string>;
  /** Names of the service's running containers. */
  containers(service: ComposeService): Promise<readonly string[]>;
  docker(...args: readonly string[]): Promise<string>;
  /** `docker compose up -d --wait` with this many of each. */
  scale(counts: Readonly<Record<string, number>>): Promise<void>;
  /** Waits for Docker to call the container healthy. */
  healthy(container: string): Promise<void>;
  /** How many replicas the balancer sends requests to. */
  balancedReplicas(): Promise<number>;
  /** Drops what the container sends to Redis, until disposed. Needs root on the Docker host. */
  cutOffFromRedis(container: string): Promise<AsyncDisposable>;
}

/** The balancer's own table of servers. */
const ASK_STATS =
  'exec 3<>/dev/tcp/127.0.0.1/8404 && printf "GET /stats;csv HTTP/1.0\\r\\n\\r\\n" >&3 && cat <&3';

const tokenAnswer = z.object({ access_token: z.string() });

/** Brings the cluster up, as `docker compose up -d --wait` does, and takes it down with its volumes at the end. */
export async function startComposeCluster(): Promise<ComposeCluster> {
  const port = await freePort();
  const issuerPort = await freePort();
  const project = `perdure-test-${process.pid}`;
  const env = {
    PERDURE_PORT: String(port),
    DEV_ISSUER_PORT: String(issuerPort),
    PERDURE_PUBLIC_URL: `http://127.0.0.1:${port}/mcp`,
  };
  const compose = async (...args: readonly string[]): Promise<void> => {
    await run("docker", ["compose", "-p", project, "--profile", "dev-issuer", ...args], {
      cwd: ROOT,
      env: { ...process.env, ...env },
    });
  };
  const environment = await new DockerComposeEnvironment(ROOT, "docker-compose.yml")
    .withProjectName(project)
    .withEnvironment(env)
    .withProfiles("dev-issuer")
    .withBuild()
    .withDefaultWaitStrategy(Wait.forHealthCheck())
    .withStartupTimeout(180_000)
    .up();

  const docker = async (...args: readonly string[]): Promise<string> =>
    (await run("docker", [...args])).stdout.trim();
  const url = `http://127.0.0.1:${port}/mcp`;
  const containers = async (service: ComposeService): Promise<readonly string[]> => {
    const labels = [`project=${project}`, `service=${service}`].flatMap((label) => [
      "--filter",
      `label=com.docker.compose.${label}`,
    ]);
    return (await docker("ps", ...labels, "--format", "{{.Names}}")).split("\n").filter(Boolean).toSorted();
  };
  const token: ComposeCluster["token"] = async ({ tenant = "acme", principal = "alice" } = {}) => {
    const response = await fetch(`http://127.0.0.1:${issuerPort}/token`, {
      method: "POST",
      body: JSON.stringify({ tenant, principal, expires: "1h" }),
    });
    return tokenAnswer.parse(await response.json()).access_token;
  };
  return {
    url,
    docker,
    containers,
    token,
    client: async (identity) => createWireClient({ url, token: await token(identity) }),
    async scale(counts) {
      const scales = Object.entries(counts).flatMap(([service, count]) => ["--scale", `${service}=${count}`]);
      await compose("up", "-d", "--wait", "--no-recreate", ...scales);
    },
    healthy: async (container) => {
      await until(
        async () => (await docker("inspect", "-f", "{{.State.Health.Status}}", container)) === "healthy",
        {
          what: `${container} to be healthy`,
          timeoutMs: 90_000,
        },
      );
    },
    async balancedReplicas() {
      const [balancer = ""] = await containers("balancer");
      const stats = await docker("exec", balancer, "bash", "-c", ASK_STATS);
      return stats.split("\n").filter((line) => /^replicas,api\d+,.*,UP,/.test(line)).length;
    },
    async cutOffFromRedis(container) {
      const [redis = ""] = await containers("redis");
      const inspect = (format: string, name: string): Promise<string> =>
        docker("inspect", "-f", format, name);
      const address = await inspect("{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", redis);
      const pid = await inspect("{{.State.Pid}}", container);
      // In the container's own network, from outside: its image has no such tools, and no right to use them.
      const firewall = (what: "-I" | "-D") =>
        run("nsenter", ["-t", pid, "-n", "iptables", what, "OUTPUT", "-d", address, "-j", "DROP"]);
      await firewall("-I");
      return { [Symbol.asyncDispose]: async () => void (await firewall("-D")) };
    },
    async [Symbol.asyncDispose]() {
      await environment.down({ removeVolumes: true, timeout: 5000 });
    },
  };
}
