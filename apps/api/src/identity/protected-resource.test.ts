import { expect, test } from "vitest";
import {
  protectedResourceMetadata,
  protectedResourceMetadataPaths,
  protectedResourceMetadataUrl,
} from "./protected-resource.ts";

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

test("the document names the resource, its issuer, and where the token goes", () => {
  const of = { resource: "https://tasks.example/mcp", issuer: "https://issuer.example" };
  expect(protectedResourceMetadata({ ...of, scopes: ["mcp"] })).toEqual({
    resource: "https://tasks.example/mcp",
    authorization_servers: ["https://issuer.example"],
    bearer_methods_supported: ["header"],
    scopes_supported: ["mcp"],
  });
  expect(protectedResourceMetadata({ ...of, scopes: [] })).not.toHaveProperty("scopes_supported");
});

test.each([
  ["https://tasks.example/mcp", `https://tasks.example${WELL_KNOWN}/mcp`],
  ["https://tasks.example:8443/public/mcp", `https://tasks.example:8443${WELL_KNOWN}/public/mcp`],
  ["https://tasks.example", `https://tasks.example${WELL_KNOWN}`],
  ["https://tasks.example/", `https://tasks.example${WELL_KNOWN}`],
  ["https://tasks.example/mcp?v=1", `https://tasks.example${WELL_KNOWN}/mcp?v=1`],
  ["http://127.0.0.1:3000/mcp", `http://127.0.0.1:3000${WELL_KNOWN}/mcp`],
])("the document of %s is at %s", (resource, url) => {
  expect(protectedResourceMetadataUrl(resource)).toBe(url);
});

test("it is served at the root form, at the endpoint's path form, and at the public path's", () => {
  expect(protectedResourceMetadataPaths("https://tasks.example/mcp")).toEqual([
    WELL_KNOWN,
    `${WELL_KNOWN}/mcp`,
  ]);
  expect(protectedResourceMetadataPaths("https://tasks.example/public/mcp")).toEqual([
    WELL_KNOWN,
    `${WELL_KNOWN}/mcp`,
    `${WELL_KNOWN}/public/mcp`,
  ]);
});

test.each([
  "",
  "tasks.example/mcp",
  "ftp://tasks.example/mcp",
  "https://tasks.example/mcp#a",
  "https://u:p@tasks.example/mcp",
])("%j is no resource identifier", (resource) => {
  expect(() => protectedResourceMetadataUrl(resource)).toThrow(
    expect.objectContaining({ code: "bad_option", option: "resource" }),
  );
});
