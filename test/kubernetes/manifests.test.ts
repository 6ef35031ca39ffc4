import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { VERSION, createMetrics } from "@perdure/runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { ofKind, workloadsOf } from "./cluster-objects.ts";
import { adapterValues } from "./custom-resources.ts";
import { DEPLOY, type Manifest, renderChart, renderKustomize } from "./render.ts";
import { RULES, startProblems } from "./rules.ts";
import { kubernetesTools } from "./tools.ts";
import { typeProblems } from "./typed-api.ts";

/* No cluster is needed: what an API server would refuse, and what an operator would regret, is found in the text. */

const ISSUER = {
  PERDURE_ISSUER: "https://login.example.com/",
  PERDURE_AUDIENCE: "https://mcp.example.com/mcp",
  PERDURE_JWKS: "https://login.example.com/keys.json",
};
const ALL_ON = {
  ingress: { enabled: true },
  monitoring: { enabled: true, labels: { release: "prometheus" } },
  worker: { autoscaling: "keda", minReplicas: 3, prometheusUrl: "http://prometheus.example.com:9090" },
  settings: { ...ISSUER, PERDURE_LISTEN_MAX_AGE_MS: 3_600_000 },
  redis: { peers: [{ ipBlock: { cidr: "10.20.0.0/24" } }], secretName: "perdure-redis" },
};
const ALL_ELSE = {
  image: {
    repository: "registry.example.com/acme/tools",
    digest: `sha256:${"0".repeat(64)}`,
    pullSecrets: ["pull"],
  },
  networkPolicies: { enabled: true },
  api: { replicas: 2, resources: { requests: { cpu: 1, memory: "1Gi" }, limits: { memory: "1Gi" } } },
  worker: { autoscaling: "prometheus-adapter", env: [{ name: "PERDURE_LEASE_MS", value: "20000" }] },
  settings: ISSUER,
  overrides: { "Deployment/perdure-worker": { spec: { progressDeadlineSeconds: 120 } } },
};

/** What is written, and whether a role would start with it: the base and the bare chart lack an issuer, which is an operator's. */
const RENDERS = [
  ["the base", () => renderKustomize("base"), false],
  ["the overlay single-node", () => renderKustomize("overlays/single-node"), true],
  ["the overlay production", () => renderKustomize("overlays/production"), true],
  ["the chart", () => renderChart(), false],
  ["the chart with every part switched on", () => renderChart(ALL_ON), true],
  ["the chart with its other choices", () => renderChart(ALL_ELSE), true],
] as const;

beforeAll(async () => {
  await kubernetesTools();
}, 120_000);

describe.each(RENDERS)("%s", (_name, render) => {
  let objects: readonly Manifest[] = [];
  beforeAll(async () => {
    objects = await render();
  });

  test("has both roles, and each object is what the API's types allow", () => {
    expect(workloadsOf(objects).map(({ name }) => name)).toEqual(
      expect.arrayContaining(["Deployment/perdure-api", "Deployment/perdure-worker"]),
    );
    expect(objects.flatMap(typeProblems)).toEqual([]);
  });

  test.each(Object.entries(RULES))("%s", (_promise, rule) => {
    expect(rule(objects)).toEqual([]);
  });
});

test.each(RENDERS.filter(([, , starts]) => starts))(
  "%s gives both roles what they need to start",
  async (_name, render) => {
    expect(startProblems(await render())).toEqual([]);
  },
);

describe("kustomize and Helm say the same", () => {
  let dir = "";
  beforeAll(async () => {
    dir = await realpath(await mkdtemp(join(tmpdir(), "perdure-kustomize-")));
  });
  afterAll(() => rm(dir, { recursive: true }));

  const compose = async (name: string, components: readonly string[]): Promise<Manifest[]> => {
    const folder = join(dir, name);
    const up = relative(folder, DEPLOY);
    await mkdir(folder);
    await writeFile(
      join(folder, "kustomization.yaml"),
      JSON.stringify({
        resources: [`${up}/base`],
        components: components.map((component) => `${up}/components/${component}`),
        namespace: "perdure",
      }),
    );
    return renderKustomize(folder);
  };

  test.each([
    ["nothing more", [], {}],
    ["an ingress", ["ingress"], { ingress: { enabled: true } }],
    ["monitoring", ["monitoring"], { monitoring: { enabled: true } }],
    ["KEDA", ["autoscaling-keda"], { worker: { autoscaling: "keda" } }],
    [
      "prometheus-adapter",
      ["autoscaling-prometheus-adapter"],
      { worker: { autoscaling: "prometheus-adapter" } },
    ],
  ])("with %s", async (name, components, values) => {
    const [kustomize, chart] = await Promise.all([
      compose(name.replaceAll(" ", "-"), components),
      renderChart(values),
    ]);
    // What an ingress adds to the settings, kustomize's users write themselves.
    const unset = { PERDURE_ALLOWED_HOSTS: undefined, PERDURE_PUBLIC_URL: undefined };
    for (const { data } of ofKind(chart, "ConfigMap")) if (data) Object.assign(data, unset);
    expect(comparable(chart)).toEqual(comparable(kustomize));
  });
});

test.each([
  ["a value that does not exist", { worker: { replica: 3 } }, "'replica' not allowed"],
  ["a way to scale that does not exist", { worker: { autoscaling: "magic" } }, "/worker/autoscaling"],
  [
    "a secret among the settings",
    { settings: { PERDURE_SECRET: "x".repeat(32) } },
    "invalid propertyName 'PERDURE_SECRET'",
  ],
  [
    "an override of nothing",
    { overrides: { "Deployment/perdure": { spec: {} } } },
    "there is no Deployment/perdure; there are ",
  ],
])("the chart refuses %s", async (_what, values, said) => {
  await expect(renderChart(values)).rejects.toThrow(said);
});

test("what a container runs is a file of the repository, started as the image starts its files", async () => {
  const root = join(DEPLOY, "../..");
  const pods = workloadsOf(await renderKustomize("base")).flatMap(({ containers }) => containers);
  expect(pods.map(({ args }) => args)).toEqual([["apps/api/src/main.ts"], ["apps/worker/src/main.ts"]]);
  expect(pods.filter(({ args, command }) => command || !existsSync(join(root, args![0]!)))).toEqual([]);
  expect(await readFile(join(root, "deploy/Dockerfile"), "utf8")).toMatch(/^ENTRYPOINT \["node", .+\]$/m);
});

test("the image is that of this version, everywhere", async () => {
  const chart = parse(await readFile(join(DEPLOY, "Chart.yaml"), "utf8"));
  expect([chart.version, chart.appVersion]).toEqual([VERSION, VERSION]);
  for (const render of [await renderKustomize("overlays/production"), await renderChart()]) {
    expect(workloadsOf(render).flatMap(({ containers }) => containers.map(({ image }) => image))).toEqual(
      Array(2).fill(`ghcr.io/perdure/perdure:${VERSION}`),
    );
  }
});

describe("workers are scaled by numbers that exist", () => {
  const folder = (name: string): string => join(DEPLOY, "components", name);
  const queries = async (): Promise<string[]> => {
    const adapter = adapterValues.parse(
      parse(await readFile(join(folder("autoscaling-prometheus-adapter"), "adapter-values.yaml"), "utf8")),
    );
    const keda = await readFile(join(folder("autoscaling-keda"), "scaled-object.yaml"), "utf8");
    const { metricsQuery, name, seriesQuery } = adapter.rules.external[0]!;
    const autoscaler = await readFile(
      join(folder("autoscaling-prometheus-adapter"), "worker-autoscaler.yaml"),
      "utf8",
    );
    expect(parse(autoscaler).spec.metrics[0].external.metric.name).toBe(name.as);
    return [metricsQuery, seriesQuery, parse(keda).spec.triggers[0].metadata.query];
  };

  test("by the same ones with KEDA and with prometheus-adapter", async () => {
    const [adapter = "", , keda = ""] = await queries();
    expect(adapter.replaceAll("<<.LabelMatchers>>", 'namespace="perdure"')).toBe(keda);
  });

  test("by metrics of a worker", async () => {
    const known = createMetrics({ role: "worker" }).registry.getMetricsAsArray();
    const names = (await queries()).flatMap((query) => query.match(/perdure_\w+/g) ?? []);
    const exists = (name: string): boolean => known.some((one) => one.name === name);
    expect(names).toContain("perdure_queue_depth");
    expect(names.filter((name) => name !== "perdure_tasks_to_run" && !exists(name))).toEqual([]);
  });
});

test("nothing that is not for production is in the overlay for it", async () => {
  const files = ["kustomization.yaml", "settings.env", "reach-redis.yaml"];
  const texts = await Promise.all(
    files.map((file) => readFile(join(DEPLOY, "overlays/production", file), "utf8")),
  );
  expect(texts.join("\n")).not.toMatch(/not-for-production|secretGenerator:/);
});

test("the operators' page is there, and names the folders", async () => {
  const page = await readFile(fileURLToPath(new URL("../../docs/operating.md", import.meta.url)), "utf8");
  for (const part of ["overlays/single-node", "overlays/production", "values.yaml"])
    expect(page).toContain(part);
});

/** By kind and name, without what each tool adds of its own: hashes in names, the release's labels, the checksum. */
function comparable(objects: readonly Manifest[]): Record<string, unknown> {
  const text = JSON.stringify(objects).replaceAll(/perdure-settings-[a-z0-9]{10}\b/g, "perdure-settings");
  const own = /^(helm\.sh\/chart|app\.kubernetes\.io\/(managed-by|instance)|checksum\/settings)$/;
  const plain: Manifest[] = JSON.parse(text, (key, value) => {
    if (own.test(key)) return undefined;
    return (key === "labels" || key === "annotations") && Object.keys(value).length === 0 ? undefined : value;
  });
  return Object.fromEntries(plain.map((object) => [`${object.kind}/${object.metadata.name}`, object]));
}
