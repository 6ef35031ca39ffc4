import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { startCluster } from "@perdure/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

/*
 * A project outside of the repository, with the packed toolkit: what an author has. Everything runs in processes of its
 * own, so that nothing of this test's loader helps.
 */

const repository = fileURLToPath(new URL("..", import.meta.url));
const workshop = mkdtempSync(join(tmpdir(), "perdure-author-"));
const project = join(workshop, "project");
const bin = join(repository, "node_modules/.bin");
const exec = promisify(execFile);
afterAll(() => rmSync(workshop, { recursive: true }));

const run = async (cwd: string, command: string, ...args: string[]): Promise<string> => {
  const PATH = `${bin}:${process.env["PATH"] ?? ""}`;
  const { stdout } = await exec(command, args, { cwd, env: { ...process.env, PATH, NODE_OPTIONS: "" } });
  return stdout;
};
const put = (name: string, text: string): void => writeFileSync(join(project, name), text);

/** Packs a copy, so that the manifest that everybody else runs on is left alone. */
async function pack(): Promise<string> {
  const staged = join(workshop, "repository/packages/toolkit");
  cpSync(join(repository, "packages/toolkit"), staged, {
    recursive: true,
    filter: (path) => !/node_modules$|dist$/.test(path),
  });
  for (const name of ["LICENSE", "tsconfig.json"])
    cpSync(join(repository, name), join(workshop, "repository", name));
  symlinkSync(join(repository, "node_modules"), join(workshop, "repository/node_modules"));
  await run(staged, "npm", "pack", "--pack-destination", workshop);
  return join(workshop, "perdure-toolkit-0.1.0.tgz");
}

const TOOLS = `
import { z } from "zod";
import { defineTool, definePrompt, ToolError } from "@perdure/toolkit";

export const approve = defineTool({
  name: "approve",
  description: "Asks for approval",
  input: z.object({ what: z.string().meta({ "x-mcp-header": "What" }) }),
  output: z.object({ approved: z.boolean() }),
  taskSupport: "required",
  async run({ what }, task) {
    const draft = await task.step("draft", () => ({ text: "About " + what }));
    const answer = await task.elicit("ok", {
      message: draft.text,
      schema: z.object({ approved: z.boolean().meta({ title: "Approve it?" }) }),
    });
    if (answer.action !== "accept") throw new ToolError("Refused");
    return { approved: answer.content.approved };
  },
});
export default [definePrompt({ name: "hello", description: "Greets", get: () => "Hello" })];
`;

beforeAll(async () => {
  mkdirSync(project);
  put(
    "package.json",
    JSON.stringify({ name: "author", version: "1.0.0", type: "module", exports: "./tools.js" }),
  );
  put("tools.js", TOOLS);
  const { zod } = JSON.parse(
    readFileSync(join(repository, "packages/toolkit/package.json"), "utf8"),
  ).dependencies;
  const flags = ["--no-audit", "--no-fund", "--prefer-offline"];
  await run(project, "npm", "install", ...flags, await pack(), `zod@${zod}`);
}, 180_000);

describe("a project outside of the repository", () => {
  test("installs a package without sources, with licence and readme, that shares the project's zod", () => {
    const home = join(project, "node_modules/@perdure/toolkit");
    const manifest = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
    expect(JSON.stringify(manifest.exports)).not.toContain("perdure-source");
    expect(manifest.dependencies).toBeUndefined();
    expect(manifest.peerDependencies).toEqual({ zod: expect.any(String) });
    expect(readFileSync(join(home, "LICENSE"), "utf8")).toContain("MIT");
    expect(readFileSync(join(home, "README.md"), "utf8")).toContain("defineTool");
  });

  test("tests its tool in memory, under plain node", async () => {
    put(
      "check.js",
      `import { runToolInMemory } from "@perdure/toolkit";
       import { approve } from "author";
       const answers = { ok: { action: "accept", content: { approved: true } } };
       console.log(JSON.stringify(await runToolInMemory(approve, { what: "cats" }, { answers, crashAfter: "draft" })));`,
    );
    expect(JSON.parse(await run(project, "node", "check.js"))).toMatchObject({
      status: "completed",
      structuredContent: { approved: true },
      steps: ["draft"],
      runs: 3,
    });
  });

  test("has types that hold, from the schemas to the test", async () => {
    put(
      "typed.ts",
      `import { z } from "zod";
       import { defineTool, runToolInMemory } from "@perdure/toolkit";
       const tool = defineTool({
         name: "t", description: "d",
         input: z.object({ n: z.number() }), output: z.object({ twice: z.number() }),
         run: async ({ n }, task) => ({ twice: await task.step("double", () => n * 2) }),
       });
       const { structuredContent } = await runToolInMemory(tool, { n: 1 });
       export const twice: number | undefined = structuredContent?.twice;
       // @ts-expect-error: n is a number
       await runToolInMemory(tool, { n: "1" });`,
    );
    const options = ["--module", "nodenext", "--target", "es2022", "--types", "", "--lib", "es2022,dom"];
    await expect(run(project, "tsc", "--noEmit", "--strict", ...options, "typed.ts")).resolves.toBe("");
  });

  test.each(["./tools.js", "author"])(
    "is loaded by the server as %s and run there, with two copies of the package at work",
    async (specifier) => {
      if (specifier === "author") {
        mkdirSync(join(project, "node_modules"), { recursive: true });
        symlinkSync(project, join(project, "node_modules/author"));
      }
      const host = pathToFileURL(join(repository, "packages/toolkit/src/host.ts")).href;
      put(
        "server.js",
        `import { loadCatalog, runTool } from ${JSON.stringify(host)};
         const catalog = await loadCatalog([${JSON.stringify(specifier)}], { baseDir: ${JSON.stringify(project)} });
         const tool = catalog.tools.get("approve");
         const answers = new Map();
         const steps = new Map();
         const run = () => runTool(tool, { what: "cats" }, {
           id: "1", caller: { tenant: "t", principal: "p", scopes: [] }, attempt: 1,
           signal: new AbortController().signal, capabilities: { elicitation: {} }, prepared: undefined,
           journal: { steps, requests: new Map(), answers, sleeps: new Map(), failures: new Map() },
           nowMs: () => 0, recordStep: async (name, record) => void steps.set(name, record),
           progress() {}, extend: async () => {}, log() {},
         });
         const asked = await run();
         answers.set("ok", JSON.stringify({ action: "decline" }));
         const refused = await run();
         answers.set("ok", JSON.stringify({ action: "accept", content: { approved: true } }));
         console.log(JSON.stringify({
           asked, refused, approved: await run(), headers: tool.headerParams, prompts: [...catalog.prompts.keys()],
         }));`,
      );
      const said = JSON.parse(await run(project, "node", "--conditions=perdure-source", "server.js"));
      expect(said).toMatchObject({
        asked: {
          kind: "waiting",
          requests: [{ key: "ok", request: expect.stringContaining("Approve it?") }],
        },
        refused: {
          kind: "completed",
          result: { isError: true, content: [{ type: "text", text: "Refused" }] },
        },
        approved: { kind: "completed", result: { structuredContent: { approved: true } } },
        headers: [{ name: "What", path: ["what"], type: "string" }],
        prompts: ["hello"],
      });
    },
  );

  test("is served through PERDURE_TOOLS to any client, with a dependency that has sources of its own", async () => {
    const dependency = join(project, "node_modules/with-sources");
    mkdirSync(join(dependency, "src"), { recursive: true });
    const exports = { ".": { source: "./src/index.ts", default: "./index.js" } };
    writeFileSync(
      join(dependency, "package.json"),
      JSON.stringify({ name: "with-sources", version: "1.0.0", type: "module", exports }),
    );
    writeFileSync(join(dependency, "index.js"), `export const words = () => "as built";`);
    writeFileSync(join(dependency, "src/index.ts"), `export const words = (): string => "as written";`);
    put(
      "served.js",
      `import { words } from "with-sources";
       import { defineTool } from "@perdure/toolkit";
       export { approve } from "./tools.js";
       export const say = defineTool({ name: "say", description: "Says its words", run: words });`,
    );

    await using cluster = await startCluster({
      replicas: 1,
      workers: 1,
      env: { PERDURE_TOOLS: join(project, "served.js") },
    });
    const client = await cluster.client();
    expect((await client.post("tools/list", {})).result).toMatchObject({
      tools: [{ name: "approve" }, { name: "say" }],
    });
    expect((await client.call("say", {})).content).toEqual([{ type: "text", text: "as built" }]);
    const call = { name: "approve", arguments: { what: "cats" } };
    const created = await client.post("tools/call", call, { headers: { "mcp-param-what": "cats" } });
    const taskId = String(created.result?.["taskId"]);
    const asking = await client.untilStatus(taskId, "input_required");
    expect(asking.inputRequests).toMatchObject({ ok: { params: { message: "About cats" } } });
    await client.update(taskId, { ok: { action: "accept", content: { approved: true } } });
    expect((await client.untilStatus(taskId, "completed")).result?.structuredContent).toEqual({
      approved: true,
    });
  });
});
