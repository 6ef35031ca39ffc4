import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import type { Kubectl } from "./kubectl.ts";
import type { LoadFigures, load } from "./load.ts";
import { LOAD_POD, STOP_FILE, type WalkObjects } from "./walk-objects.ts";

/** What a walk needs. */
export interface WalkDeps {
  readonly kubectl: Kubectl;
  readonly objects: WalkObjects;
  /** The clients of `load.ts`, for the one task that is called from here. */
  readonly load: typeof load;
  /** Told of each step as it ends. */
  readonly say: (line: string) => void;
  /** Between two looks at what has no event. Default 1000. */
  readonly pollMs?: number;
}

const figures = z.object({
  requests: z.number(),
  failed: z.number(),
  created: z.number(),
  completed: z.number(),
  lost: z.number(),
  failures: z.array(z.string()),
});

const ROLES = ["deployment/perdure-api", "deployment/perdure-worker"];
const LONG_MS = 600_000;
const ROLLOUT_MS = 330_000;

/**
 * A day of an operator: apply, ready, a task through the Service, a rolling restart of each role under load, more pods and fewer
 * again under load. Gives what the clients counted meanwhile. Throws where a step fails; it cleans nothing up.
 */
export async function walkCluster({
  kubectl,
  objects,
  load,
  say,
  pollMs = 1000,
}: WalkDeps): Promise<LoadFigures> {
  const step = async <Value>(title: string, work: () => Promise<Value>): Promise<Value> => {
    const startedMs = performance.now();
    const value = await work();
    say(`${title}: ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
    return value;
  };
  const apply = (list: readonly object[]): Promise<string> =>
    kubectl.run(["apply", "--filename", "-"], {
      input: list.map((one) => JSON.stringify(one)).join("\n---\n"),
    });
  const settled = async (what: readonly string[]): Promise<void> => {
    for (const one of what) {
      await kubectl.run(["rollout", "status", one, "--timeout=300s"], { timeoutMs: ROLLOUT_MS });
    }
  };
  const scale = async (replicas: number): Promise<void> => {
    await kubectl.run(["scale", ...ROLES, `--replicas=${replicas}`]);
    await settled(ROLES);
  };

  await step("applied", () => apply(objects.overlay));
  await step("ready", () => settled(["statefulset/perdure-redis", ...ROLES]));
  await step("a task through the Service", () => oneTask({ kubectl, token: objects.token, load }));

  await step("clients at work", async () => {
    await apply(objects.load);
    await kubectl.run(["wait", "--for=condition=Ready", `pod/${LOAD_POD}`, "--timeout=120s"], {
      timeoutMs: LONG_MS,
    });
    while (!(await kubectl.run(["logs", LOAD_POD])).includes("started")) await delay(pollMs);
  });
  for (const role of ROLES) {
    await step(`${role} restarted, one pod after another`, async () => {
      await kubectl.run(["rollout", "restart", role]);
      await settled([role]);
    });
  }
  await step("scaled to 4", () => scale(4));
  await step("scaled back to 2", () => scale(2));

  return step("clients at their end", async () => {
    await kubectl.run(["exec", LOAD_POD, "--", "touch", STOP_FILE]);
    await kubectl.run(
      ["wait", "--for=jsonpath={.status.phase}=Succeeded", `pod/${LOAD_POD}`, "--timeout=180s"],
      {
        timeoutMs: LONG_MS,
      },
    );
    const lines = (await kubectl.run(["logs", LOAD_POD])).trim().split("\n");
    return figures.parse(JSON.parse(lines.at(-1) ?? ""));
  });
}

async function oneTask({
  kubectl,
  token,
  load,
}: Pick<WalkDeps, "kubectl" | "load"> & { readonly token: string }): Promise<void> {
  const forward = await kubectl.forward("perdure-api", 3000);
  try {
    let asked = 0;
    const isOver = (): boolean => (asked += 1) > 1;
    const { completed, failures } = await load({ url: `${forward.url}/mcp`, token, clients: 1, isOver });
    if (completed !== 1)
      throw new Error(`The first task was not completed: ${failures.join("; ") || "no error"}`);
  } finally {
    forward.stop();
  }
}

/** The figures as a person reads them; and whether they are what is promised. */
export function presentFigures(counted: LoadFigures): { readonly isGood: boolean; readonly text: string } {
  const { requests, failed, created, completed, lost, failures } = counted;
  const isGood = failed === 0 && lost === 0 && created > 0;
  const text = [
    `requests ${requests}, failed ${failed}; tasks created ${created}, completed ${completed}, lost ${lost}`,
    ...failures,
  ];
  return { isGood, text: text.join("\n") };
}
