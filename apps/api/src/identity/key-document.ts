import { open } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { isLoopback } from "@perdure/runtime";
import { IdentityError } from "./identity-error.ts";

/** The largest key set that is read, in bytes. */
const MAX_BYTES = 512 * 1024;
const MAX_REDIRECTS = 3;

/** Where a key set is read from. */
export interface KeyDocument {
  readonly kind: "url" | "file";
  /** For logs: the path, or the URL without its query. */
  readonly where: string;
  /** The text as it is now. Rejects when it cannot be had, is larger than 512 KB, or the signal fires. */
  read(signal: AbortSignal): Promise<string>;
}

/** A {@link KeyDocument} of an https URL (http on loopback alone) or a file; else an {@link IdentityError}. */
export function createKeyDocument(jwks: string, fetcher: typeof fetch): KeyDocument {
  if (jwks === "") throw badJwks("jwks must be a URL or the path of a file");
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(jwks)) return fileDocument(jwks);
  const url = URL.parse(jwks);
  if (url?.protocol === "file:") return fileDocument(fileURLToPath(url));
  if (!url || (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback(url.hostname)))) {
    throw badJwks("jwks must be an https URL (http only on loopback) or the path of a file");
  }
  if (url.username !== "" || url.password !== "") throw badJwks("jwks must be a URL without credentials");
  return { kind: "url", where: url.origin + url.pathname, read: (signal) => get(url, fetcher, signal) };
}

function badJwks(message: string): IdentityError {
  return new IdentityError("bad_option", "jwks", message);
}

function fileDocument(path: string): KeyDocument {
  return {
    kind: "file",
    where: path,
    async read(signal) {
      await using file = await open(path, "r");
      const found = await file.stat();
      if (!found.isFile()) throw new Error("it is not a file");
      if (found.size > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES} bytes`);
      return file.readFile({ encoding: "utf8", signal });
    },
  };
}

/** Follows redirects within the origin alone: keys are trusted because of where they come from. */
async function get(url: URL, fetcher: typeof fetch, signal: AbortSignal): Promise<string> {
  let from = url;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const response = await fetcher(from.href, {
      signal,
      redirect: "manual",
      headers: { Accept: "application/jwk-set+json, application/json" },
    });
    if (response.status === 200) return readBounded(response);
    await response.body?.cancel();
    const location = response.headers.get("location");
    if (response.status < 300 || response.status > 399 || location === null) {
      throw new Error(`it answered with status ${response.status}`);
    }
    const next = URL.parse(location, from.href);
    if (next?.origin !== url.origin) throw new Error("it redirects to another origin");
    from = next;
  }
  throw new Error(`it redirects more than ${MAX_REDIRECTS} times`);
}

async function readBounded(response: Response): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let bytes = 0;
  // Leaving the loop early cancels the body.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
