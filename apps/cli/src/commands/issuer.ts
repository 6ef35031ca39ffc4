import { openDevIssuer } from "../issuer/dev-issuer.ts";
import { startIssuerServer } from "../issuer/issuer-server.ts";

/** Serves the data folder's development issuer alone, until SIGTERM or Ctrl-C: for a local cluster. */
export async function serveIssuer(
  address: { readonly host: string; readonly port: number },
  { env, err }: { readonly env: NodeJS.ProcessEnv; readonly err: NodeJS.WritableStream },
): Promise<void> {
  const stopped = new Promise<void>((done) => {
    process.once("SIGINT", () => done());
    process.once("SIGTERM", () => done());
  });
  const issuer = await openDevIssuer(env["PERDURE_DATA"] || ".perdure");
  const server = await startIssuerServer(issuer, address);
  err.write(`The development issuer gives tokens to anyone at ${server.url}/token\n`);
  await stopped;
  await server.stop();
}
