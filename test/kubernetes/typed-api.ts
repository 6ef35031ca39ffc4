import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import * as api from "@kubernetes/client-node";
import { CUSTOM_RESOURCES } from "./custom-resources.ts";
import { type Manifest, isRecord } from "./render.ts";

/*
 * What the API server would refuse, found without one: the official client carries, for every type of the API, the names and
 * the types of its fields. It knows neither enums nor quantities; those that we use are in the tables here.
 */

interface Attribute {
  readonly baseName: string;
  readonly type: string;
  readonly format: string;
}

const KINDS: Readonly<Record<string, string>> = {
  "v1/ConfigMap": "V1ConfigMap",
  "v1/Namespace": "V1Namespace",
  "v1/Pod": "V1Pod",
  "v1/Secret": "V1Secret",
  "v1/Service": "V1Service",
  "v1/ServiceAccount": "V1ServiceAccount",
  "apps/v1/Deployment": "V1Deployment",
  "apps/v1/StatefulSet": "V1StatefulSet",
  "autoscaling/v2/HorizontalPodAutoscaler": "V2HorizontalPodAutoscaler",
  "networking.k8s.io/v1/Ingress": "V1Ingress",
  "networking.k8s.io/v1/NetworkPolicy": "V1NetworkPolicy",
  "policy/v1/PodDisruptionBudget": "V1PodDisruptionBudget",
};

const ENUMS: Readonly<Record<string, readonly string[]>> = {
  "V1Container.imagePullPolicy": ["Always", "IfNotPresent", "Never"],
  "V1PodSpec.restartPolicy": ["Always", "OnFailure", "Never"],
  "V1SeccompProfile.type": ["RuntimeDefault", "Localhost", "Unconfined"],
  "V1PodSecurityContext.fsGroupChangePolicy": ["OnRootMismatch", "Always"],
  "V1TopologySpreadConstraint.whenUnsatisfiable": ["DoNotSchedule", "ScheduleAnyway"],
  "V1DeploymentStrategy.type": ["RollingUpdate", "Recreate"],
  "V1ServiceSpec.type": ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"],
  "V1ServicePort.protocol": ["TCP", "UDP", "SCTP"],
  "V1ContainerPort.protocol": ["TCP", "UDP", "SCTP"],
  "V1NetworkPolicyPort.protocol": ["TCP", "UDP", "SCTP"],
  "V1NetworkPolicySpec.policyTypes": ["Ingress", "Egress"],
  "V1LabelSelectorRequirement.operator": ["In", "NotIn", "Exists", "DoesNotExist"],
  "V1PersistentVolumeClaimSpec.accessModes": [
    "ReadWriteOnce",
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOncePod",
  ],
  "V1StatefulSetPersistentVolumeClaimRetentionPolicy.whenDeleted": ["Retain", "Delete"],
  "V1StatefulSetPersistentVolumeClaimRetentionPolicy.whenScaled": ["Retain", "Delete"],
  "V1PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy": ["IfHealthyBudget", "AlwaysAllow"],
  "V1HTTPIngressPath.pathType": ["Exact", "Prefix", "ImplementationSpecific"],
  "V2MetricSpec.type": ["Resource", "Pods", "Object", "External", "ContainerResource"],
  "V2MetricTarget.type": ["Utilization", "Value", "AverageValue"],
  "V2HPAScalingPolicy.type": ["Pods", "Percent"],
};

/** Written as text or as a number; to the client they are texts like any other. */
const QUANTITIES: ReadonlySet<string> = new Set([
  "V1ResourceRequirements.limits",
  "V1ResourceRequirements.requests",
  "V1VolumeResourceRequirements.limits",
  "V1VolumeResourceRequirements.requests",
  "V1EmptyDirVolumeSource.sizeLimit",
  "V2MetricTarget.averageValue",
  "V2MetricTarget.value",
]);
const QUANTITY = /^[+-]?\d+(\.\d+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE]\d+)?$/;

const models: Readonly<Record<string, unknown>> = { ...api };
const modelsDir = join(
  dirname(createRequire(import.meta.url).resolve("@kubernetes/client-node")),
  "gen/models",
);

/** Every field of an object that its type does not have, lacks, or has otherwise; each a line that begins with its path. */
export function typeProblems(manifest: Manifest): string[] {
  const { apiVersion, kind, metadata } = manifest;
  const at = `${kind}/${metadata.name}`;
  const custom = CUSTOM_RESOURCES[`${apiVersion}/${kind}`];
  if (custom) {
    const { error } = custom.safeParse(manifest);
    const issues = error?.issues ?? [];
    return issues.map(
      ({ path, message }) => `${at}${path.map((step) => `.${String(step)}`).join("")}: ${message}`,
    );
  }
  const type = KINDS[`${apiVersion}/${kind}`];
  if (type === undefined) return [`${at}: ${apiVersion} ${kind} is no kind that is known here`];
  return problemsOfModel(manifest, type, at);
}

function problemsOfModel(value: unknown, type: string, path: string): string[] {
  if (!isRecord(value)) return [wrong(path, "an object", value)];
  const attributes = attributesOf(type);
  const known = new Set(attributes.map(({ baseName }) => baseName));
  const unknown = Object.keys(value).filter((name) => !known.has(name));
  const missing = requiredOf(type).filter((name) => !Object.hasOwn(value, name));
  return [
    ...unknown.map((name) => `${path}.${name}: ${type} has no such field`),
    ...missing.map((name) => `${path}.${name}: is needed`),
    ...attributes
      .filter(({ baseName }) => Object.hasOwn(value, baseName))
      .flatMap((attribute) => {
        const { baseName } = attribute;
        const field = `${type}.${baseName}`;
        return problemsOf(value[baseName], { ...attribute, field }, `${path}.${baseName}`);
      }),
  ];
}

interface Expected {
  readonly type: string;
  readonly format: string;
  /** `Type.field`, the key of the tables above; its items have the same. */
  readonly field: string;
}

function problemsOf(value: unknown, expected: Expected, path: string): string[] {
  const { type, format, field } = expected;
  const itemType = /^Array<(.+)>$/.exec(type)?.[1];
  if (itemType !== undefined) {
    if (!Array.isArray(value)) return [wrong(path, "a list", value)];
    return value.flatMap((item, at) => problemsOf(item, { ...expected, type: itemType }, `${path}[${at}]`));
  }
  const valueType = /^\{ \[key: string\]: (.+); \}$/.exec(type)?.[1];
  if (valueType !== undefined) {
    if (!isRecord(value)) return [wrong(path, "a map", value)];
    return Object.entries(value).flatMap(([key, item]) =>
      problemsOf(item, { ...expected, type: valueType }, `${path}.${key}`),
    );
  }
  if (type === "any") return [];
  if (QUANTITIES.has(field)) {
    return QUANTITY.test(String(value)) && !isRecord(value) ? [] : [wrong(path, "a quantity", value)];
  }
  if (type === "IntOrString") {
    return typeof value === "string" || Number.isInteger(value)
      ? []
      : [wrong(path, "a whole number or a text", value)];
  }
  if (type === "number" && format.startsWith("int")) {
    return Number.isInteger(value) ? [] : [wrong(path, "a whole number", value)];
  }
  if (type === "Date" || type === "string") {
    if (typeof value !== "string") return [wrong(path, "a text", value)];
    const choices = ENUMS[field];
    return !choices || choices.includes(value) ? [] : [wrong(path, `one of ${choices.join(", ")}`, value)];
  }
  if (type === "number" || type === "boolean") {
    return typeof value === type ? [] : [wrong(path, `a ${type}`, value)];
  }
  return problemsOfModel(value, type, path);
}

function wrong(path: string, expected: string, value: unknown): string {
  return `${path}: expected ${expected}, got ${JSON.stringify(value)}`;
}

function attributesOf(type: string): readonly Attribute[] {
  const model = models[type];
  if (!isModel(model)) throw new Error(`The client has no type ${type}`);
  return model.getAttributeTypeMap();
}

interface Model {
  getAttributeTypeMap(): readonly Attribute[];
}

function isModel(value: unknown): value is Model {
  return typeof value === "function" && "getAttributeTypeMap" in value;
}

const required = new Map<string, readonly string[]>();

/** The client tells this to the compiler alone: `'selector': …` in its declarations, not `'selector'?: …`. */
function requiredOf(type: string): readonly string[] {
  const known = required.get(type);
  if (known) return known;
  const declaration = readFileSync(join(modelsDir, `${type}.d.ts`), "utf8");
  const names = [...declaration.matchAll(/^ {4}'([^']+)': /gm)].map(([, name = ""]) => name);
  required.set(type, names);
  return names;
}
