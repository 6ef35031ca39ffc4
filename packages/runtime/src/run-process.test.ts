import { spawn } from "node:child_process";
import { afterEach, expect, test } from "vitest";

const RUN_PROCESS = new URL("run-process.ts", import.meta.url).href;
const LOG = new URL("log.ts", import.meta.url).href;

const PRELUDE = `
  import { runMain, runProcess } from ${JSON.stringify(RUN_PROCESS)};
  import { createLog } from ${JSON.stringify(LOG)};
  const log = createLog({ level: "info", role: "worker" });
  const say = (word) => process.stdout.write(word + "\\n");
  const service = (name, stop = () => {}) => ({
    async start() { say("start " + name); this.timer = setInterval(() => {}, 1000); },
    async stop() { say("stop " + name); await stop(); },
  });
`;

const children: { kill(signal: "SIGKILL"): boolean }[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

/** Runs a script in a process of its own. `saw` resolves once the text was printed; `ended` with the exit code. */
function run(script: string) {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", PRELUDE + script]);
  children.push(child);
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const saw = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => (stdout.includes(text) ? resolve() : undefined);
      child.stdout.on("data", look);
      child.once("close", () => reject(new Error(`ended without ${text}: ${stdout}${stderr}`)));
      look();
    });
  return {
    signal: (name: NodeJS.Signals) => child.kill(name),
    saw,
    ended,
    words: () => stdout.split("\n").filter((line) => /^(start|stop) /.test(line)),
    stdout: () => stdout,
    stderr: () => stderr,
  };
}

const SERVE = `await runProcess({ name: "perdure-worker", log, services: [service("a"), service("b")], drainMs: 5000 });`;

test.each(["SIGTERM", "SIGINT"] as const)(
  "%s stops what was started, in reverse, and exits with 0",
  async (signal) => {
    const child = run(SERVE);
    await child.saw("Started");
    child.signal(signal);
    expect(await child.ended).toBe(0);
    expect(child.words()).toEqual(["start a", "start b", "stop b", "stop a"]);
  },
);

test("the same signal again exits at once", async () => {
  const child = run(
    `await runProcess({ name: "w", log, services: [service("a", () => new Promise(() => {}))], drainMs: 60000 });`,
  );
  await child.saw("Started");
  child.signal("SIGTERM");
  await child.saw("stop a");
  const impatience = setInterval(() => child.signal("SIGTERM"), 50);
  expect(await child.ended).toBe(1);
  clearInterval(impatience);
  expect(child.stdout()).toContain("exiting at once");
});

test("a Ctrl-C that npm and a parent pass on is one wish to stop", async () => {
  const child = run(
    `await runProcess({ name: "w", log, services: [service("a", () => new Promise((done) => process.on("SIGTERM", () => setTimeout(done, 20))))], drainMs: 5000 });`,
  );
  await child.saw("Started");
  child.signal("SIGINT");
  await child.saw("stop a");
  child.signal("SIGINT");
  child.signal("SIGTERM");
  expect(await child.ended).toBe(0);
});

test("a stop that never ends is cut off after the deadline", async () => {
  const child = run(
    `await runProcess({ name: "w", log, services: [service("a", () => new Promise(() => {}))], drainMs: 0 });`,
  );
  await child.saw("Started");
  child.signal("SIGTERM");
  expect(await child.ended).toBe(1);
  expect(child.stdout()).toContain("The stop took too long");
});

test("a start that fails prints one line, stops what had started, and exits with 1", async () => {
  const child = run(`
    const broken = { start: () => Promise.reject(new Error("Redis is gone:\\n  at 127.0.0.1")), stop: async () => {} };
    await runProcess({ name: "perdure-worker", log, services: [service("a"), broken, service("c")], drainMs: 100 });
  `);
  expect(await child.ended).toBe(1);
  expect(child.stderr()).toBe("perdure-worker: Redis is gone: at 127.0.0.1\n");
  expect(child.words()).toEqual(["start a", "stop a"]);
});

test("what main throws is one line and exit code 1", async () => {
  const child = run(`await runMain("perdure-api", async () => { throw new Error("PERDURE_PORT: bad"); });`);
  expect(await child.ended).toBe(1);
  expect(child.stderr()).toBe("perdure-api: PERDURE_PORT: bad\n");
});

test("a promise that nobody handled is logged and the process goes on", async () => {
  const child = run(
    `${SERVE} Promise.reject(new Error("forgotten")); setTimeout(() => say("still here"), 50);`,
  );
  await child.saw("still here");
  expect(child.stdout()).toContain("forgotten");
  child.signal("SIGTERM");
  expect(await child.ended).toBe(0);
});

test("an exception that nobody caught ends the process at once", async () => {
  const child = run(`${SERVE} setTimeout(() => { throw new Error("lost"); }, 10);`);
  expect(await child.ended).toBe(1);
  expect(child.stdout()).toContain("lost");
  expect(child.words()).toEqual(["start a", "start b"]);
});
