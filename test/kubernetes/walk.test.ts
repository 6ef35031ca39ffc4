import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startCluster } from "@perdure/testkit";
import { expect, test } from "vitest";
import type { Kubectl } from "./kubectl.ts";
import { type LoadFigures, load } from "./load.ts";
import { typeProblems } from "./typed-api.ts";
import { presentFigures, walkCluster } from "./walk-cluster.ts";
import { type WalkObjects, walkObjects } from "./walk-objects.ts";

/* The walk needs a cluster. What can be known without one: its clients, its objects, its steps and its words. */

const GOOD: LoadFigures = { requests: 90, failed: 0, created: 30, completed: 30, lost: 0, failures: [] };

test("without KUBECONFIG the walk ends at once, with one sentence that says what to do", async () => {
  const { KUBECONFIG: _none, ...env } = process.env;
  const main = fileURLToPath(new URL("walk.ts", import.meta.url));
  const ended = promisify(execFile)(process.execPath, ["--conditions=perdure-source", main], { env });
  await expect(ended).rejects.toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringMatching(/^Say in KUBECONFIG which cluster to walk: .+\n$/),
  });
});

test("the clients follow each task to its end, and count what fails", async () => {
  await using cluster = await startCluster({ replicas: 1, workers: 1 });
  const token = await cluster.token();
  const [replica] = cluster.replicas;
  let tasks = 0;
  const isOver = (): boolean => (tasks += 1) > 4;

  const good = await load({ url: replica!.url, token, clients: 2, isOver });
  expect(good).toMatchObject({ failed: 0, created: 4, completed: 4, lost: 0, failures: [] });
  expect(good.requests).toBeGreaterThanOrEqual(8);

  tasks = 3;
  const stranger = await load({ url: replica!.url, token: "none", clients: 1, isOver });
  expect(stranger).toMatchObject({ requests: 1, failed: 1, created: 0, lost: 0 });
  expect(stranger.failures[0]).toContain("HTTP 401");

  tasks = 3;
  const nobody = await load({ url: "http://127.0.0.1:9/mcp", token, clients: 1, isOver });
  expect(nobody).toMatchObject({ requests: 1, failed: 1, created: 0 });
}, 120_000);

test("a task that is acknowledged and does not end in time is lost", async () => {
  await using cluster = await startCluster({ replicas: 1, workers: 0 });
  let tasks = 0;
  const isOver = (): boolean => (tasks += 1) > 1;
  const [replica] = cluster.replicas;
  const figures = await load({
    url: replica!.url,
    token: await cluster.token(),
    clients: 1,
    isOver,
    lostAfterMs: 600,
  });
  expect(figures).toMatchObject({ failed: 0, created: 1, completed: 0, lost: 1 });
}, 120_000);

test("everything that a walk applies is what the API's types allow, in one namespace, with the image that was asked for", async () => {
  const { overlay, load } = await walkObjects({ namespace: "perdure-walk-1", image: "perdure:local" });
  expect([...overlay, ...load].flatMap(typeProblems)).toEqual([]);
  expect(overlay[0]).toMatchObject({ kind: "Namespace", metadata: { name: "perdure-walk-1" } });
  expect(new Set([...overlay.slice(1), ...load].map(({ metadata }) => metadata.namespace))).toEqual(
    new Set(["perdure-walk-1"]),
  );
  const text = JSON.stringify([overlay, load]);
  expect(text.match(/"image":"[^"]+"/g)?.toSorted()).toEqual([
    ...Array(3).fill('"image":"perdure:local"'),
    '"image":"redis:7.4-bookworm"',
  ]);
});

test("the published image is walked when no other is named", async () => {
  const { load } = await walkObjects({ namespace: "walk" });
  expect(JSON.stringify(load)).toContain('"image":"ghcr.io/perdure/perdure:');
});

interface Said {
  readonly commands: string[];
  readonly kubectl: Kubectl;
}

/** A cluster that does what it is told at once, and whose clients counted what is given. */
function obedientCluster(figures: LoadFigures): Said {
  const commands: string[] = [];
  return {
    commands,
    kubectl: {
      run: async (args) => {
        commands.push(args.join(" "));
        return args[0] === "logs" ? `started\n${JSON.stringify(figures)}\n` : "";
      },
      forward: async (service, port) => {
        commands.push(`forward ${service} ${port}`);
        return { url: "http://127.0.0.1:1", stop: () => void commands.push("stop forward") };
      },
    },
  };
}

const NO_OBJECTS: WalkObjects = { overlay: [], load: [], token: "t" };

test("a walk goes through an operator's day, in order, and gives what its clients counted", async () => {
  const { commands, kubectl } = obedientCluster(GOOD);
  const lines: string[] = [];
  const deps = { kubectl, objects: NO_OBJECTS, load: async () => ({ ...GOOD, completed: 1 }), pollMs: 1 };
  expect(await walkCluster({ ...deps, say: (line) => lines.push(line) })).toEqual(GOOD);
  expect(commands.filter((command) => !command.startsWith("rollout status"))).toEqual([
    "apply --filename -",
    "forward perdure-api 3000",
    "stop forward",
    "apply --filename -",
    "wait --for=condition=Ready pod/walk-load --timeout=120s",
    "logs walk-load",
    "rollout restart deployment/perdure-api",
    "rollout restart deployment/perdure-worker",
    "scale deployment/perdure-api deployment/perdure-worker --replicas=4",
    "scale deployment/perdure-api deployment/perdure-worker --replicas=2",
    "exec walk-load -- touch /tmp/stop",
    "wait --for=jsonpath={.status.phase}=Succeeded pod/walk-load --timeout=180s",
    "logs walk-load",
  ]);
  expect(lines.map((line) => line.replace(/: [\d.]+ s$/, ""))).toEqual([
    "applied",
    "ready",
    "a task through the Service",
    "clients at work",
    "deployment/perdure-api restarted, one pod after another",
    "deployment/perdure-worker restarted, one pod after another",
    "scaled to 4",
    "scaled back to 2",
    "clients at their end",
  ]);
});

test("a walk stops where the first task is not completed, and closes its way in", async () => {
  const { commands, kubectl } = obedientCluster(GOOD);
  const failing = async (): Promise<LoadFigures> => ({ ...GOOD, completed: 0, failures: ["HTTP 503"] });
  const deps = { kubectl, objects: NO_OBJECTS, load: failing, say: () => {} };
  await expect(walkCluster(deps)).rejects.toThrow("The first task was not completed: HTTP 503");
  expect(commands.at(-1)).toBe("stop forward");
});

test("one failed request or one lost task is no success, and neither is a walk without any", () => {
  expect(presentFigures(GOOD)).toEqual({
    isGood: true,
    text: "requests 90, failed 0; tasks created 30, completed 30, lost 0",
  });
  const isGood = (over: Partial<LoadFigures>): boolean => presentFigures({ ...GOOD, ...over }).isGood;
  expect([isGood({ failed: 1 }), isGood({ lost: 1 }), isGood({ created: 0 })]).toEqual([false, false, false]);
  expect(presentFigures({ ...GOOD, failed: 1, failures: ["reset"] }).text).toContain("failed 1");
});
