#!/usr/bin/env node
// Runs the command on Node 24 whatever Node started it: Perdure's sources are TypeScript that Node 24 reads as it is.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const args = ["--conditions=perdure-source", main, ...process.argv.slice(2)];
const child = spawn(node24(), args, { stdio: "inherit" });

// The terminal sends Ctrl-C to the whole group; SIGTERM reaches this process alone, so it is passed on.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.on("error", (error) => {
  process.stderr.write(`perdure: Node 24 did not start: ${error.message}\n`);
  process.exitCode = 1;
});
child.on("exit", (code, signal) => {
  process.exitCode = code ?? (signal === "SIGINT" ? 130 : 143);
});

function node24() {
  if (Number(process.versions.node.split(".")[0]) >= 24) return process.execPath;
  const manifest = createRequire(import.meta.url).resolve("node/package.json");
  return join(dirname(manifest), "bin", "node");
}
