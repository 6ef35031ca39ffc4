import { type KeyObject, createHmac, generateKeyPairSync, sign } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Cluster } from "@perdure/testkit";

/** Signs whatever it is told to, by hand, with keys that the cluster's replicas trust and with one that they do not. */
export interface Forger {
  /** A whole token. Default: a good one of mallory of acme, under the trusted ES256 key `good`. */
  token(options?: ForgedToken): string;
  /** Public half of the trusted RSA key, as PEM: what a confused verifier would take for a secret. */
  readonly publicPem: string;
  /** A key of the forger's own, that nobody trusts, and its public half. */
  readonly ownKey: KeyObject;
  readonly ownJwk: object;
  /** Makes the replicas trust one more ES256 key under this `kid`, or this one alone. */
  trust(kid: string, isAlone?: boolean): Promise<void>;
  /** Replaces the key set's file. */
  publish(text: string): Promise<void>;
}

/** What is forged. */
export interface ForgedToken {
  readonly header?: Readonly<Record<string, unknown>>;
  /** Over the good ones; `undefined` leaves a claim out. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Instead of the claims. */
  readonly payload?: string;
  /** A key, or the secret of an HMAC. Default: the trusted key of the header's `kid`. */
  readonly key?: KeyObject | string;
}

/** Claims of a good token. */
export function goodClaims(): Readonly<Record<string, unknown>> {
  const now = Math.floor(Date.now() / 1000);
  const who = { iss: "https://issuer.test", aud: "perdure-test", sub: "mallory", tenant: "acme" };
  return { ...who, iat: now, exp: now + 600 };
}

/** Adds its trusted keys to the cluster's key set. Replicas see them when they meet the first token under them. */
export async function createForger(cluster: Cluster): Promise<Forger> {
  const file = join(cluster.dir, "jwks.json");
  const keys = new Map<string, KeyObject>();
  const own = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
  keys.set("rsa", rsa.privateKey);
  const publish = (text: string): Promise<void> => writeFile(file, text);
  const add = async (jwk: object, isAlone: boolean): Promise<void> => {
    const known: readonly object[] = isAlone ? [] : JSON.parse(await readFile(file, "utf8")).keys;
    await publish(JSON.stringify({ keys: [...known, jwk] }));
  };
  const trust = async (kid: string, isAlone = false): Promise<void> => {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    keys.set(kid, privateKey);
    await add({ ...publicKey.export({ format: "jwk" }), kid, alg: "ES256" }, isAlone);
  };
  // Without `alg`, as some issuers publish it: then only the verifier's own list stands between RS256 and HS256.
  await add({ ...rsa.publicKey.export({ format: "jwk" }), kid: "rsa" }, false);
  await trust("good");
  return {
    token({ header = {}, claims = {}, payload, key } = {}) {
      const whole: Readonly<Record<string, unknown>> = { alg: "ES256", kid: "good", ...header };
      const text = payload ?? JSON.stringify({ ...goodClaims(), ...claims });
      const input = `${encoded(JSON.stringify(whole))}.${encoded(text)}`;
      return `${input}.${signature(input, key ?? keys.get(String(whole["kid"])) ?? own.privateKey)}`;
    },
    publicPem: rsa.publicKey.export({ type: "spki", format: "pem" }).toString(),
    ownKey: own.privateKey,
    ownJwk: own.publicKey.export({ format: "jwk" }),
    trust,
    publish,
  };
}

function encoded(text: string): string {
  return Buffer.from(text).toString("base64url");
}

function signature(input: string, key: KeyObject | string): string {
  if (typeof key === "string") return key && createHmac("sha256", key).update(input).digest("base64url");
  const isRsa = key.asymmetricKeyType === "rsa";
  return sign("sha256", Buffer.from(input), isRsa ? key : { key, dsaEncoding: "ieee-p1363" }).toString(
    "base64url",
  );
}
