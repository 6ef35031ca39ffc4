import { parseDurationSeconds } from "../duration.ts";
import { openDevIssuer } from "../issuer/dev-issuer.ts";

/** Options of `perdure token`. */
export interface TokenOptions {
  readonly tenant: string;
  readonly principal: string;
  readonly scope: string;
  readonly expires: string;
}

/** Prints a token of the data folder's development issuer, and nothing else. */
export async function token(
  options: TokenOptions,
  { env, out }: { readonly env: NodeJS.ProcessEnv; readonly out: NodeJS.WritableStream },
): Promise<void> {
  const expiresInSeconds = parseDurationSeconds(options.expires);
  const issuer = await openDevIssuer(env["PERDURE_DATA"] || ".perdure");
  const { tenant, principal } = options;
  const scopes = options.scope.split(/[ ,]+/).filter(Boolean);
  out.write(`${await issuer.sign({ tenant, principal, scopes, expiresInSeconds })}\n`);
}
