import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type JWK, SignJWT, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK } from "jose";
import { z } from "zod";

const ALGORITHM = "ES256";

/** What a development token says. */
export interface TokenClaims {
  readonly tenant: string;
  readonly principal: string;
  readonly scopes: readonly string[];
  readonly expiresInSeconds: number;
}

/** Signs tokens for trying Perdure out, with a key that lives in the data folder. It is no identity provider: whoever can read the folder can be anyone. */
export interface DevIssuer {
  /** The `iss` of its tokens. */
  readonly issuer: string;
  /** The `aud` of its tokens. */
  readonly audience: string;
  /** The file with its public keys, for `PERDURE_JWKS`. */
  readonly jwksFile: string;
  readonly jwks: { readonly keys: readonly JWK[] };
  sign(claims: TokenClaims): Promise<string>;
}

/** Where the tokens of a development issuer come from and are meant for. */
export const DEV_ISSUER = "http://localhost:9402";
export const DEV_AUDIENCE = "perdure-dev";

const privateJwk = z.looseObject({ kty: z.string(), kid: z.string(), d: z.string() });

/** Opens the issuer of a data folder; makes its key at the first call. Two callers at once get the same key. */
export async function openDevIssuer(dataDir: string): Promise<DevIssuer> {
  const folder = join(dataDir, "issuer");
  const jwk = (await readKey(folder)) ?? (await makeKey(folder));
  const { d: _secret, ...publicJwk } = jwk;
  const jwks = { keys: [publicJwk] };
  const jwksFile = join(folder, "jwks.json");
  await writeWhole(jwksFile, JSON.stringify(jwks), 0o644);
  const key = await importJWK(jwk, ALGORITHM);

  return {
    issuer: DEV_ISSUER,
    audience: DEV_AUDIENCE,
    jwksFile,
    jwks,
    sign: ({ tenant, principal, scopes, expiresInSeconds }) =>
      new SignJWT({ tenant, ...(scopes.length > 0 ? { scope: scopes.join(" ") } : {}) })
        .setProtectedHeader({ alg: ALGORITHM, kid: jwk.kid, typ: "at+jwt" })
        .setIssuer(DEV_ISSUER)
        .setAudience(DEV_AUDIENCE)
        .setSubject(principal)
        .setIssuedAt()
        .setExpirationTime(`${expiresInSeconds} s`)
        .sign(key),
  };
}

/** True when the data folder already has an issuer's key: a server was started on it. */
export async function hasDevIssuer(dataDir: string): Promise<boolean> {
  return (await readKey(join(dataDir, "issuer"))) !== undefined;
}

async function readKey(folder: string): Promise<z.infer<typeof privateJwk> | undefined> {
  const text = await readFile(join(folder, "private.jwk"), "utf8").catch(() => undefined);
  return text === undefined ? undefined : privateJwk.parse(JSON.parse(text));
}

async function makeKey(folder: string): Promise<z.infer<typeof privateJwk>> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
  const jwk = await exportJWK(privateKey);
  const kid = (await calculateJwkThumbprint(jwk)).slice(0, 16);
  const whole = { ...jwk, kid, alg: ALGORITHM, use: "sig" };
  try {
    // "wx": when two processes make a key at once, the first file stays and the second caller reads it.
    await writeFile(join(folder, "private.jwk"), JSON.stringify(whole), { mode: 0o600, flag: "wx" });
  } catch (error) {
    const made = await readKey(folder);
    if (!made) throw error;
    return made;
  }
  return privateJwk.parse(whole);
}

async function writeWhole(file: string, text: string, mode: number): Promise<void> {
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, text, { mode });
  await rename(draft, file);
}
