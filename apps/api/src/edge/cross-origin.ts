import type { IncomingMessage, ServerResponse } from "node:http";

const EXPOSED = "WWW-Authenticate, Retry-After, X-Request-Id";
const PREFLIGHT_HEADERS = {
  "access-control-allow-methods": "POST",
  "access-control-max-age": "600",
} as const;

/**
 * Lets a web page read what it is answered. Called only for an origin that the guard has let through; without an
 * `Origin` header, which is every client but a browser, nothing is set.
 */
export function allowOrigin(request: IncomingMessage, response: ServerResponse): void {
  const { origin } = request.headers;
  if (origin === undefined) return;
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("access-control-expose-headers", EXPOSED);
  response.setHeader("vary", "Origin");
}

/** True for a browser's question whether it may send a request here (Fetch §CORS-preflight). */
export function isPreflight(request: IncomingMessage): boolean {
  return (
    request.method === "OPTIONS" &&
    request.headers.origin !== undefined &&
    request.headers["access-control-request-method"] !== undefined
  );
}

/** Answers it: POST, with the headers that were asked for. They carry no right: the request itself is checked. */
export function setPreflightHeaders(request: IncomingMessage, response: ServerResponse): void {
  const asked = request.headers["access-control-request-headers"];
  for (const [name, value] of Object.entries(PREFLIGHT_HEADERS)) response.setHeader(name, value);
  if (asked !== undefined && /^[\w\-, \t]{1,1024}$/.test(asked)) {
    response.setHeader("access-control-allow-headers", asked);
  }
}
