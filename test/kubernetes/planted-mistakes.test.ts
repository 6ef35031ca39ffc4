import { beforeAll, describe, expect, test } from "vitest";
import { type Manifest, isRecord, parseManifests, renderKustomize } from "./render.ts";
import { RULES, startProblems } from "./rules.ts";
import { kubernetesTools } from "./tools.ts";
import { typeProblems } from "./typed-api.ts";

/* The checks of the manifests, checked: each mistake is put into a good render, one at a time, and must be found. */

type Path = readonly (string | number)[];

/** One place of one object, and what is put there; undefined takes it away. */
interface Mistake {
  /** `Kind/name`. */
  readonly in: string;
  readonly at: Path;
  readonly put: unknown;
}

const POD = ["spec", "template", "spec"];
const CONTAINER = [...POD, "containers", 0];
const API = "Deployment/perdure-api";
const WORKER = "Deployment/perdure-worker";
const SETTINGS = "ConfigMap/perdure-settings";

let good: readonly Manifest[] = [];
beforeAll(async () => {
  await kubernetesTools();
  good = await renderKustomize("overlays/production");
}, 120_000);

function withMistake({ in: name, at, put }: Mistake): Manifest[] {
  const nameOf = ({ kind, metadata }: Manifest): string =>
    `${kind}/${metadata.name}`.replace(/(perdure-settings)-\w+$/, "$1");
  expect(good.map(nameOf)).toContain(name);
  const objects = good.map((object) => (nameOf(object) === name ? changed(object, at, put) : object));
  return objects.flatMap((object) => parseManifests(JSON.stringify(object)));
}

function changed(place: unknown, [step, ...rest]: Path, put: unknown): unknown {
  if (step === undefined) return put;
  if (Array.isArray(place)) return place.map((item, at) => (at === step ? changed(item, rest, put) : item));
  const record = isRecord(place) ? place : {};
  return { ...record, [step]: changed(record[step], rest, put) };
}

describe("the types find", () => {
  test.each<[string, Mistake & { says: string }]>([
    [
      "a field that does not exist",
      { in: API, at: [...POD, "hostName"], put: "x", says: "V1PodSpec has no such field" },
    ],
    ["a text for a number", { in: API, at: ["spec", "minReadySeconds"], put: "5", says: "a whole number" }],
    [
      "a fraction for a whole number",
      { in: API, at: ["spec", "minReadySeconds"], put: 0.5, says: "a whole number" },
    ],
    [
      "a field that is missing",
      { in: API, at: ["spec", "selector"], put: undefined, says: "spec.selector: is needed" },
    ],
    ["a text for a list", { in: API, at: [...CONTAINER, "args"], put: "main.ts", says: "a list" }],
    ["a list for a map", { in: API, at: ["metadata", "labels"], put: ["x"], says: "a map" }],
    [
      "a text for an object",
      { in: API, at: [...POD, "securityContext"], put: "restricted", says: "an object" },
    ],
    [
      "a word that is no choice",
      { in: "Service/perdure-api", at: ["spec", "type"], put: "External", says: "one of ClusterIP" },
    ],
    [
      "a broken quantity",
      { in: WORKER, at: [...CONTAINER, "resources", "limits", "memory"], put: "1 GB", says: "a quantity" },
    ],
    [
      "a truth value for a text",
      { in: "Ingress/perdure", at: ["metadata", "annotations", "x"], put: false, says: "a text" },
    ],
    [
      "a truth value for a port",
      {
        in: "Service/perdure-api",
        at: ["spec", "ports", 0, "targetPort"],
        put: true,
        says: "a whole number or a text",
      },
    ],
    [
      "an unknown field of a ScaledObject",
      { in: "ScaledObject/perdure-worker", at: ["spec", "minReplicas"], put: 2, says: "Unrecognized key" },
    ],
    [
      "a number for a text of a ScaledObject",
      {
        in: "ScaledObject/perdure-worker",
        at: ["spec", "triggers", 0, "metadata", "threshold"],
        put: 15,
        says: "expected string",
      },
    ],
    [
      "an unknown field of a ServiceMonitor",
      {
        in: "ServiceMonitor/perdure",
        at: ["spec", "endpoints", 0, "every"],
        put: "5s",
        says: "Unrecognized key",
      },
    ],
    [
      "a version of the API that is gone",
      {
        in: "PodDisruptionBudget/perdure-api",
        at: ["apiVersion"],
        put: "policy/v1beta1",
        says: "is no kind that is known",
      },
    ],
  ])("%s", (_what, mistake) => {
    const problems = withMistake(mistake).flatMap(typeProblems);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(mistake.says);
    expect(problems[0]).toMatch(new RegExp(`^${mistake.in}\\b`));
  });
});

describe("a rule finds what is against it:", () => {
  const DENY: Mistake = {
    in: "NetworkPolicy/perdure-deny",
    at: ["spec", "podSelector", "matchLabels"],
    put: { app: "x" },
  };
  test.each<[string, Mistake]>([
    [
      "every pod keeps to the restricted profile",
      { in: API, at: [...POD, "securityContext", "runAsNonRoot"], put: false },
    ],
    [
      "every pod keeps to the restricted profile",
      { in: WORKER, at: [...CONTAINER, "securityContext", "capabilities"], put: {} },
    ],
    [
      "every image has a version",
      { in: API, at: [...CONTAINER, "image"], put: "ghcr.io/perdure/perdure:latest" },
    ],
    ["every image has a version", { in: API, at: [...CONTAINER, "image"], put: "registry:5000/perdure" }],
    [
      "every container says what it needs, and its memory is bounded",
      { in: API, at: [...CONTAINER, "resources"], put: {} },
    ],
    [
      "every container has three probes, on ports that it has",
      { in: WORKER, at: [...CONTAINER, "startupProbe"], put: undefined },
    ],
    [
      "every container has three probes, on ports that it has",
      { in: API, at: [...CONTAINER, "livenessProbe", "httpGet", "port"], put: "http" },
    ],
    ["our names of variables stay ours", { in: API, at: [...POD, "enableServiceLinks"], put: true }],
    [
      "every variable exists, and no secret one is a setting",
      { in: SETTINGS, at: ["data", "PERDURE_DRAIN"], put: "1" },
    ],
    [
      "every variable exists, and no secret one is a setting",
      { in: SETTINGS, at: ["data", "PERDURE_SECRET"], put: "x".repeat(32) },
    ],
    [
      "every variable exists, and no secret one is a setting",
      { in: SETTINGS, at: ["data", "PERDURE_REDIS_URL"], put: "redis://:password@redis:6379" },
    ],
    ["a stop has the time that it needs", { in: SETTINGS, at: ["data", "PERDURE_DRAIN_MS"], put: "60000" }],
    [
      "a stop has the time that it needs",
      { in: SETTINGS, at: ["data", "PERDURE_SHUTDOWN_DELAY_MS"], put: "20000" },
    ],
    [
      "a stop has the time that it needs",
      { in: API, at: [...POD, "terminationGracePeriodSeconds"], put: 20 },
    ],
    [
      "every selector selects pods, and a workload its own",
      {
        in: "PodDisruptionBudget/perdure-worker",
        at: ["spec", "selector", "matchLabels"],
        put: { app: "x" },
      },
    ],
    ["every selector selects pods, and a workload its own", DENY],
    [
      "every selector selects pods, and a workload its own",
      { in: API, at: ["spec", "selector", "matchLabels"], put: { app: "x" } },
    ],
    ["every pod is closed but for what is named", DENY],
    [
      "ports that are named are there",
      { in: "Service/perdure-api", at: ["spec", "ports", 0, "targetPort"], put: "http" },
    ],
    [
      "ports that are named are there",
      { in: "ServiceMonitor/perdure", at: ["spec", "endpoints", 0, "port"], put: "http" },
    ],
    [
      "ports that are named are there",
      {
        in: "NetworkPolicy/perdure-from-ingress",
        at: ["spec", "ingress", 0, "ports", 0, "port"],
        put: "http",
      },
    ],
    [
      "ports that are named are there",
      {
        in: "Ingress/perdure",
        at: ["spec", "rules", 0, "http", "paths", 0, "backend", "service", "port", "name"],
        put: "http",
      },
    ],
    [
      "an ingress lets streams through for as long as a call may take",
      { in: "Ingress/perdure", at: ["metadata", "annotations", "haproxy.org/timeout-server"], put: "60s" },
    ],
    ["one alone says how many pods there are", { in: API, at: ["spec", "replicas"], put: 3 }],
    [
      "one alone says how many pods there are",
      { in: "ScaledObject/perdure-worker", at: ["spec", "scaleTargetRef", "name"], put: "worker" },
    ],
    ["what is referred to is there", { in: API, at: [...POD, "serviceAccountName"], put: "default" }],
    [
      "what is referred to is there",
      { in: WORKER, at: [...CONTAINER, "envFrom", 0, "configMapRef", "name"], put: "settings" },
    ],
  ])("%s", (promise, mistake) => {
    const rule = RULES[promise]!;
    // Without the policies that open a way, which close what they do not name: so it is the one that denies that is tested.
    const opening = mistake === DENY ? /^perdure-(to|from)-/ : /^$/;
    const without = (objects: readonly Manifest[]): Manifest[] =>
      objects.filter(({ metadata }) => !opening.test(metadata.name));
    expect(rule(without(good))).toEqual([]);
    expect(rule(without(withMistake(mistake)))).not.toEqual([]);
  });
});

test("a role that would not start is found", () => {
  const objects = withMistake({ in: SETTINGS, at: ["data", "PERDURE_DURABILITY"], put: "always" });
  expect(startProblems(objects).join("\n")).toContain("PERDURE_DURABILITY");
});

test("text that is no YAML, and YAML that is no object, are refused", () => {
  expect(() => parseManifests("kind: [")).toThrow("Flow sequence");
  expect(() => parseManifests("kind: Service")).toThrow("Not an object of Kubernetes");
});
