import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import { once } from "node:events";
import { bareHost, urlHost } from "@perdure/runtime";
import { z } from "zod";
import { parseDurationSeconds } from "../duration.ts";
import type { DevIssuer } from "./dev-issuer.ts";

/** A development issuer on HTTP: its metadata (RFC 8414), its keys, and tokens for whoever asks. */
export interface IssuerServer {
  readonly url: string;
  stop(): Promise<void>;
}

const tokenRequest = z.strictObject({
  tenant: z.string().min(1).max(256),
  principal: z.string().min(1).max(256),
  scope: z.string().max(1024).default(""),
  expires: z.string().default("1h"),
});

const MAX_BODY_BYTES = 4096;

/**
 * Serves `GET /.well-known/oauth-authorization-server`, `GET /jwks.json` and `POST /token` (`{ tenant, principal, scope?, expires? }`).
 * It gives a token to anyone who can reach it, so it listens where it is told and is meant for loopback or a private network.
 */
export async function startIssuerServer(
  issuer: DevIssuer,
  address: { readonly host: string; readonly port: number },
): Promise<IssuerServer> {
  const server = createServer((request, response) => {
    answer(issuer, request, response).catch((error: unknown) => {
      send(response, 400, { error: "invalid_request", error_description: messageOf(error) });
    });
  });
  server.listen(address.port, bareHost(address.host));
  await once(server, "listening");
  return {
    url: `http://${urlHost(address.host)}:${address.port}`,
    async stop() {
      if (!server.listening) return;
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(issuer: DevIssuer, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const route = `${request.method} ${request.url}`;
  if (route === "GET /livez") return send(response, 200, { ok: true });
  if (route === "GET /jwks.json") return send(response, 200, issuer.jwks);
  if (route === "GET /.well-known/oauth-authorization-server") {
    return send(response, 200, {
      issuer: issuer.issuer,
      jwks_uri: `${issuer.issuer}/jwks.json`,
      token_endpoint: `${issuer.issuer}/token`,
      response_types_supported: [],
    });
  }
  if (route !== "POST /token") return send(response, 404, { error: "not_found" });
  const asked = tokenRequest.parse(JSON.parse(await readBody(request)));
  const expiresInSeconds = parseDurationSeconds(asked.expires);
  const token = await issuer.sign({
    tenant: asked.tenant,
    principal: asked.principal,
    scopes: asked.scope.split(" ").filter(Boolean),
    expiresInSeconds,
  });
  return send(response, 200, { access_token: token, token_type: "Bearer", expires_in: expiresInSeconds });
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > MAX_BODY_BYTES) throw new Error(`The body is over ${MAX_BODY_BYTES} bytes`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(JSON.stringify(body));
}

function messageOf(error: unknown): string {
  return error instanceof z.ZodError
    ? z.prettifyError(error)
    : error instanceof Error
      ? error.message
      : "bad request";
}
