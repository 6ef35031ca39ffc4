import type { IncomingMessage, ServerResponse } from "node:http";
import express from "express";
import type { ErrorRequestHandler, RequestHandler } from "express";
import type { ServerOptions } from "../api-deps.ts";
import type { OriginGuard } from "../identity/origin-guard.ts";
import { headerValues } from "./header-values.ts";

/** What the other paths stand on. */
export interface OtherPathsDeps {
  readonly resourceMetadata: ServerOptions["resourceMetadata"];
  readonly originGuard: OriginGuard;
}

/** A plain handler. */
export type OtherPaths = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Everything but the MCP endpoint: the RFC 9728 document, public and readable by any page, and 404 for the rest.
 * Answers are small JSON, never HTML, never a stack.
 */
export function createOtherPaths({ resourceMetadata, originGuard }: OtherPathsDeps): OtherPaths {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  const checkHost: RequestHandler = (request, response, next) => {
    const verdict = originGuard.check(headerValues(request, "host"), undefined);
    if (verdict.verdict === "ok") next();
    else response.status(403).json({ error: verdict.description });
  };
  app.use(checkHost);
  if (resourceMetadata) {
    const { paths, document } = resourceMetadata;
    app.get([...paths], (_request, response) => {
      response
        .set({ "access-control-allow-origin": "*", "cache-control": "public, max-age=300" })
        .json(document);
    });
  }
  app.use((_request, response) => {
    response.status(404).json({ error: "Not found: the MCP endpoint is /mcp" });
  });
  app.use(onError);
  return app;
}

// oxlint-disable-next-line max-params -- express knows an error handler by its four parameters
const onError: ErrorRequestHandler = (_error, _request, response, _next) => {
  if (response.headersSent) response.destroy();
  else response.status(400).json({ error: "Bad request" });
};
