import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { type McpClient, type ServerAddress, createMcpClient } from "../client/mcp-client.ts";
import { hasDevIssuer, openDevIssuer } from "../issuer/dev-issuer.ts";

/** Options that every client command takes. */
export interface ConnectOptions {
  readonly url?: string | undefined;
  readonly token?: string | undefined;
  readonly tenant: string;
  readonly principal: string;
}

const TOKEN_SECONDS = 3600;
const serverFile = z.looseObject({ url: z.url() });

/**
 * A client for the server that is meant: `--url` or PERDURE_URL, else the one that was started on the data folder.
 * The token is `--token` or PERDURE_TOKEN, else one of the folder's development issuer, for `--tenant` and `--principal`.
 */
export async function connect(options: ConnectOptions, env: NodeJS.ProcessEnv): Promise<McpClient> {
  return createMcpClient(await findServer(options, env));
}

/** Where {@link connect} connects to, and with which token. */
export async function findServer(options: ConnectOptions, env: NodeJS.ProcessEnv): Promise<ServerAddress> {
  const dataDir = env["PERDURE_DATA"] || ".perdure";
  const url = options.url ?? env["PERDURE_URL"] ?? (await urlOf(dataDir, env));
  const token = options.token ?? env["PERDURE_TOKEN"] ?? (await devToken(dataDir, options));
  return { url, token };
}

async function urlOf(dataDir: string, env: NodeJS.ProcessEnv): Promise<string> {
  try {
    return serverFile.parse(JSON.parse(await readFile(join(dataDir, "server.json"), "utf8"))).url;
  } catch {
    return `http://127.0.0.1:${env["PERDURE_PORT"] || "3000"}/mcp`;
  }
}

async function devToken(dataDir: string, { tenant, principal }: ConnectOptions): Promise<string | undefined> {
  if (!(await hasDevIssuer(dataDir))) return undefined;
  const issuer = await openDevIssuer(dataDir);
  return issuer.sign({ tenant, principal, scopes: [], expiresInSeconds: TOKEN_SECONDS });
}
