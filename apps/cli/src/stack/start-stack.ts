import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type RunningRedis, ensureRedisServer, startRedisServer } from "@perdure/redis-server";
import { type RoleProcess, bareHost, startRoleProcess, urlHost } from "@perdure/runtime";
import { dataSecret } from "./data-secret.ts";
import { freePorts } from "./free-ports.ts";
import { type DevIssuer, openDevIssuer } from "../issuer/dev-issuer.ts";
import { type IssuerServer, startIssuerServer } from "../issuer/issuer-server.ts";

/** What a stack on one machine is made of. */
export interface StackOptions {
  readonly dataDir: string;
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
  /** The replica's; the worker has the next one. 0 for any two free ones. */
  readonly opsPort: number;
  /** 0 for any free one. */
  readonly issuerPort: number;
  /** A Redis to use instead of a private one. */
  readonly redisUrl?: string | undefined;
  /** Further `PERDURE_*` variables for both roles. */
  readonly env: Readonly<Record<string, string>>;
  /** Told what is being done when it takes more than a moment. */
  readonly say: (line: string) => void;
}

/** A private Redis, a development issuer, a replica and a worker, each a process (the issuer lives in this one). */
export interface Stack {
  readonly url: string;
  readonly issuer: DevIssuer;
  /** Resolves with a sentence when a part ends by itself. */
  readonly broken: Promise<string>;
  stop(): Promise<void>;
}

const MAIN_OF = {
  replica: fileURLToPath(new URL("../../../api/src/main.ts", import.meta.url)),
  worker: fileURLToPath(new URL("../../../worker/src/main.ts", import.meta.url)),
};

/** Starts all parts and resolves once they serve. What was started is stopped again when one of them fails. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const started: { stop(): Promise<void> }[] = [];
  const stop = async (): Promise<void> => {
    // The worker gives its leases back while Redis is still there, so the order is the reverse of the start.
    for (const part of started.splice(0).toReversed()) await part.stop();
  };
  try {
    await mkdir(join(options.dataDir, "logs"), { recursive: true });
    const redis = options.redisUrl === undefined ? await startPrivateRedis(options) : undefined;
    if (redis) started.push(redis);
    const issuer = await openDevIssuer(options.dataDir);
    const issuerServer = await startIssuer(issuer, options);
    started.push(issuerServer);
    const ports = await portsOf(options);
    const env = {
      PERDURE_REDIS_URL: redis?.url ?? options.redisUrl ?? "",
      PERDURE_HOST: options.host,
      PERDURE_PORT: String(ports.mcp),
      PERDURE_DATA: options.dataDir,
      PERDURE_ISSUER: issuer.issuer,
      PERDURE_AUDIENCE: issuer.audience,
      PERDURE_JWKS: issuer.jwksFile,
      PERDURE_SECRET: await dataSecret(options.dataDir),
      ...options.env,
    };
    const roles = await startRoles({ dataDir: options.dataDir, ports, env }, started);
    const url = `http://${urlHost(options.host)}:${ports.mcp}/mcp`;
    await writeFile(join(options.dataDir, "server.json"), JSON.stringify({ url }));
    return { url, issuer, broken: firstToEnd(roles), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startPrivateRedis({ dataDir, say }: StackOptions): Promise<RunningRedis> {
  const dir = join(dataDir, "redis");
  await mkdir(dir, { recursive: true });
  const binary = await ensureRedisServer({ say });
  return startRedisServer({ binary, dir, appendfsync: "always" });
}

/** It gives a token to anyone who can reach it: on loopback, wherever the replica listens. */
async function startIssuer(issuer: DevIssuer, { issuerPort }: StackOptions): Promise<IssuerServer> {
  try {
    return await startIssuerServer(issuer, { host: "127.0.0.1", port: issuerPort });
  } catch (error) {
    throw new Error(`The development issuer cannot listen on 127.0.0.1:${issuerPort}`, { cause: error });
  }
}

interface Ports {
  readonly mcp: number;
  readonly replicaOps: number;
  readonly workerOps: number;
}

/** The ports to take: their number must be known before the roles start, because readiness is asked there. */
async function portsOf({ host, port, opsPort }: StackOptions): Promise<Ports> {
  const [mcp = 0, replicaOps = 0, workerOps = 0] = await freePorts(3, bareHost(host));
  return {
    mcp: port || mcp,
    replicaOps: opsPort || replicaOps,
    workerOps: opsPort ? opsPort + 1 : workerOps,
  };
}

interface Roles {
  readonly dataDir: string;
  readonly ports: Ports;
  readonly env: Readonly<Record<string, string>>;
}

async function startRoles(
  { dataDir, ports, env }: Roles,
  started: { stop(): Promise<void> }[],
): Promise<readonly RoleProcess[]> {
  const start = async (name: "replica" | "worker", opsPort: number): Promise<RoleProcess> => {
    const role = await startRoleProcess({
      name,
      main: MAIN_OF[name],
      env: { ...env, PERDURE_OPS_PORT: String(opsPort) },
      logFile: join(dataDir, "logs", `${name}.log`),
      opsPort,
    });
    started.push(role);
    return role;
  };
  const both = await Promise.allSettled([
    start("replica", ports.replicaOps),
    start("worker", ports.workerOps),
  ]);
  return both.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  });
}

async function firstToEnd(roles: readonly RoleProcess[]): Promise<string> {
  return Promise.race(roles.map(async ({ name, exited }) => `The ${name} ended (${await exited})`));
}
