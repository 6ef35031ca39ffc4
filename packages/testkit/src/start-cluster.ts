import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type RunningRedis, freePort } from "@perdure/redis-server";
import { type RoleProcess, startRoleProcess } from "@perdure/runtime";
import { SignJWT, exportJWK, generateKeyPair } from "jose";
import { type StartRedisOptions, startRedis } from "./start-redis.ts";
import { type WireClient, createWireClient } from "./wire-client.ts";
import type { Json } from "./wire-message.ts";

const ISSUER = "https://issuer.test";
const AUDIENCE = "perdure-test";
/** Long, as whole test runs share a machine. */
const READY_MS = 50_000;

/** What a cluster is made of. */
export interface ClusterOptions {
  readonly replicas: number;
  readonly workers: number;
  /** For its Redis; ignored when `redisUrl` is given. */
  readonly redis?: StartRedisOptions;
  /** A Redis of the test's own, or several, as `PERDURE_REDIS_URL` names it. The cluster does not stop it. */
  readonly redisUrl?: string;
  /** Further `PERDURE_*` variables for every role. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Whom a token speaks for. */
export interface TestIdentity {
  readonly tenant?: string;
  readonly principal?: string;
  readonly scope?: string;
  /** From now; negative for an expired one. Default 600. */
  readonly expiresInSeconds?: number;
}

/** Whose client, of which replica, and what it can do (default: forms and tasks). */
export interface ClusterClientOptions extends TestIdentity {
  /** Index of a replica. */
  readonly replica?: number;
  readonly capabilities?: Json;
}

/** A replica of a cluster. */
export interface ClusterReplica extends RoleProcess {
  /** Its MCP endpoint. */
  readonly url: string;
}

/** Replicas, workers and a Redis as real processes, with an issuer that the replicas trust. */
export interface Cluster extends AsyncDisposable {
  /** The one that runs now, or ran last. Throws when the cluster was given a `redisUrl`. */
  readonly redis: RunningRedis;
  /** Starts a killed Redis again, on the same port and data. */
  restartRedis(): Promise<RunningRedis>;
  /** A folder that goes away with the cluster. */
  readonly dir: string;
  readonly replicas: readonly ClusterReplica[];
  readonly workers: readonly RoleProcess[];
  /** A signed token. Tenant "acme" and principal "alice" unless said otherwise. */
  token(identity?: TestIdentity): Promise<string>;
  /** A client of one replica (default: the first), as whom and with the capabilities that are given. */
  client(options?: ClusterClientOptions): Promise<WireClient>;
  /** What a role has logged so far. */
  logOf(role: RoleProcess): Promise<string>;
  /** With further variables, and out of another tree of sources (`root`) than this one: an older build. */
  startReplica(env?: Readonly<Record<string, string>>, root?: string): Promise<ClusterReplica>;
  startWorker(env?: Readonly<Record<string, string>>, root?: string): Promise<RoleProcess>;
  /** Stops every process and removes the folder. Idempotent. */
  stop(): Promise<void>;
}

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** Starts a cluster and resolves once every role is ready. Stop it, or hold it with `await using`. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const dir = await mkdtemp(join(tmpdir(), "perdure-cluster-"));
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const jwksFile = join(dir, "jwks.json");
  await writeFile(
    jwksFile,
    JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "test", alg: "ES256" }] }),
  );
  const redisOptions = { dir: join(dir, "redis"), ...options.redis };
  let redis = options.redisUrl === undefined ? await startRedis(redisOptions) : undefined;
  const ownRedis = (): RunningRedis => {
    if (redis === undefined) throw new Error("This cluster has no Redis of its own");
    return redis;
  };
  const shared = {
    PERDURE_REDIS_URL: redis?.url ?? options.redisUrl ?? "",
    PERDURE_DURABILITY: options.redis?.appendfsync === "always" ? "durable" : "ephemeral",
    PERDURE_ISSUER: ISSUER,
    PERDURE_AUDIENCE: AUDIENCE,
    PERDURE_JWKS: jwksFile,
    PERDURE_SECRET: "a secret of the tests that all replicas share",
    ...options.env,
  };
  const replicas: ClusterReplica[] = [];
  const workers: RoleProcess[] = [];
  let started = 0;

  const start = async (
    role: "api" | "worker",
    env: Readonly<Record<string, string>>,
    root: string = ROOT,
  ): Promise<RoleProcess> => {
    started += 1;
    const name = `${role}-${started}`;
    const opsPort = await freePort();
    return startRoleProcess({
      name,
      main: join(root, "apps", role, "src/main.ts"),
      env: { ...shared, ...env, PERDURE_OPS_PORT: String(opsPort) },
      logFile: logFileOf(name),
      opsPort,
      readyDeadlineMs: READY_MS,
    });
  };

  const logFileOf = (name: string): string => join(dir, `${name}.log`);

  const cluster: Cluster = {
    get redis() {
      return ownRedis();
    },
    async restartRedis() {
      redis = await startRedis({ ...redisOptions, port: ownRedis().port });
      return redis;
    },
    dir,
    replicas,
    workers,
    token: ({ tenant = "acme", principal = "alice", scope, expiresInSeconds = 600 } = {}) => {
      const now = Math.floor(Date.now() / 1000);
      return new SignJWT({ tenant, ...(scope === undefined ? {} : { scope }) })
        .setProtectedHeader({ alg: "ES256", kid: "test" })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(principal)
        .setIssuedAt(now)
        .setExpirationTime(now + expiresInSeconds)
        .sign(privateKey);
    },
    async client({ replica = 0, capabilities, ...identity } = {}) {
      const url = replicas[replica]?.url;
      if (url === undefined) throw new Error(`There is no replica ${replica}`);
      const token = await cluster.token(identity);
      return createWireClient({ url, token, ...(capabilities && { capabilities }) });
    },
    logOf: ({ name }) => readFile(logFileOf(name), "utf8"),
    async startReplica(env = {}, root) {
      const port = await freePort();
      const role = await start("api", { ...env, PERDURE_PORT: String(port) }, root);
      const replica = { ...role, url: `http://127.0.0.1:${port}/mcp` };
      replicas.push(replica);
      return replica;
    },
    async startWorker(env = {}, root) {
      const worker = await start("worker", env, root);
      workers.push(worker);
      return worker;
    },
    async stop() {
      await Promise.all([...replicas, ...workers].map((role) => role.stop(5_000)));
      await redis?.stop();
      await rm(dir, { recursive: true, force: true });
    },
    [Symbol.asyncDispose]: () => cluster.stop(),
  };
  try {
    await Promise.all([
      ...Array.from({ length: options.replicas }, () => cluster.startReplica()),
      ...Array.from({ length: options.workers }, () => cluster.startWorker()),
    ]);
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}
