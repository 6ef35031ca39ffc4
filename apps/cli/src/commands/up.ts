import { resolve } from "node:path";
import { onStopSignals, parseConfig } from "@perdure/runtime";
import { CliError } from "../cli-error.ts";
import { type Stack, startStack } from "../stack/start-stack.ts";
import { withoutClientVariables } from "./client-variables.ts";

const HOUR_SECONDS = 3600;

/** Brings up a private Redis, a replica, a worker and a development issuer, and keeps them until Ctrl-C. */
export async function up(
  { issuerPort }: { readonly issuerPort: number },
  { env: everything, out }: { readonly env: NodeJS.ProcessEnv; readonly out: NodeJS.WritableStream },
): Promise<void> {
  const env = withoutClientVariables(everything);
  const config = parseConfig(env);
  const say = (line: string): void => void out.write(`${line}\n`);
  const stopped = firstSignal();
  const stack = await startStack({
    dataDir: resolve(config.dataDir),
    host: config.host,
    port: config.port,
    opsPort: config.opsPort,
    issuerPort,
    redisUrl: env["PERDURE_REDIS_URL"] || undefined,
    env: ownVariables(env),
    say,
  });
  await greet(stack, config.dataDir, say);

  const end = await Promise.race([stopped, stack.broken]);
  say(end === "signal" ? "\nStopping." : `\n${end}. See ${config.dataDir}/logs.`);
  await stack.stop();
  if (end !== "signal") throw new CliError(`${end}: everything was stopped`);
}

async function greet(stack: Stack, dataDir: string, say: (line: string) => void): Promise<void> {
  const token = await stack.issuer.sign({
    tenant: "acme",
    principal: "alice",
    scopes: [],
    expiresInSeconds: HOUR_SECONDS,
  });
  say(`Perdure serves MCP at ${stack.url}

  Call a tool, from a second terminal:
    npx perdure call generate_report size=large

  The same without our client (the token is good for an hour):
    curl -s ${stack.url} \\
      -H 'authorization: Bearer ${token}' \\
      -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' \\
      -H 'mcp-protocol-version: 2026-07-28' -H 'mcp-method: tools/list' \\
      -d '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}'

  Data and logs are in ${dataDir}/. Serve your own tools with PERDURE_TOOLS=./my-tools.ts npm start.
  Ctrl-C ends all of it; tasks go on where they were at the next start.`);
}

function firstSignal(): Promise<"signal"> {
  return new Promise((done) => {
    onStopSignals({ onFirst: () => done("signal"), onAgain: () => process.exit(1) });
  });
}

/** What the person set for themselves goes on to the roles; where they are and what they stand on is set by the stack. */
function ownVariables(env: NodeJS.ProcessEnv): Record<string, string> {
  const isOurs = new Set([
    "PERDURE_PORT",
    "PERDURE_HOST",
    "PERDURE_OPS_PORT",
    "PERDURE_REDIS_URL",
    "PERDURE_DATA",
  ]);
  const own: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (name.startsWith("PERDURE_") && value && !isOurs.has(name)) own[name] = value;
  }
  return own;
}
