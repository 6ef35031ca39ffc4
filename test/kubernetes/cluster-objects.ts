import type {
  V1ConfigMap,
  V1Container,
  V1Deployment,
  V1Ingress,
  V1LabelSelector,
  V1NetworkPolicy,
  V1PodDisruptionBudget,
  V1PodTemplateSpec,
  V1Secret,
  V1Service,
  V1StatefulSet,
  V2HorizontalPodAutoscaler,
} from "@kubernetes/client-node";
import type { Manifest } from "./render.ts";

type Labels = Readonly<Record<string, string>>;

/** As far as it is checked here. */
interface ServiceMonitor {
  readonly spec: {
    readonly selector: { readonly matchLabels: Labels };
    readonly endpoints: readonly { readonly port: string }[];
  };
}

/** As far as it is checked here. */
interface ScaledObject {
  readonly spec: { readonly scaleTargetRef: { readonly name: string } };
}

interface Kinds {
  ConfigMap: V1ConfigMap;
  Deployment: V1Deployment;
  HorizontalPodAutoscaler: V2HorizontalPodAutoscaler;
  Ingress: V1Ingress;
  NetworkPolicy: V1NetworkPolicy;
  PodDisruptionBudget: V1PodDisruptionBudget;
  ScaledObject: ScaledObject;
  Secret: V1Secret;
  Service: V1Service;
  ServiceMonitor: ServiceMonitor;
  StatefulSet: V1StatefulSet;
}

/** The objects of a kind. Their types were checked before: see `typeProblems`. */
export function ofKind<Kind extends keyof Kinds>(
  objects: readonly Manifest[],
  kind: Kind,
): (Kinds[Kind] & Manifest)[] {
  return objects.filter((object): object is Kinds[Kind] & Manifest => object.kind === kind);
}

/** What makes pods. */
export interface Workload {
  readonly name: string;
  readonly object: (V1Deployment | V1StatefulSet) & Manifest;
  readonly template: V1PodTemplateSpec;
  readonly labels: Readonly<Record<string, string>>;
  readonly containers: readonly V1Container[];
}

export function workloadsOf(objects: readonly Manifest[]): Workload[] {
  return [...ofKind(objects, "Deployment"), ...ofKind(objects, "StatefulSet")].map((object) => {
    const template = object.spec!.template;
    return {
      name: `${object.kind}/${object.metadata.name}`,
      object,
      template,
      labels: template.metadata?.labels ?? {},
      containers: template.spec!.containers,
    };
  });
}

/** True when labels have all that is asked for. */
export function isSelected(labels: Labels, wanted: Labels | undefined): boolean {
  return Object.entries(wanted ?? {}).every(([name, value]) => labels[name] === value);
}

/** As {@link isSelected}; a selector that is empty or absent selects everything. */
export function selects(selector: V1LabelSelector | undefined, labels: Labels): boolean {
  if (!selector) return true;
  if (selector.matchExpressions?.length) throw new Error("Expressions over pods are not understood here");
  return isSelected(labels, selector.matchLabels);
}

/** Names of the ports of a workload's pods. */
export function portNames({ containers }: Workload): string[] {
  return containers.flatMap(({ ports = [] }) => ports.flatMap(({ name }) => name ?? []));
}

/** The variables of a container as it will see them; a value from a Secret that is not among the objects is left out. */
export function environmentOf(container: V1Container, objects: readonly Manifest[]): Record<string, string> {
  const secretValue = (name = "", key = ""): string | undefined => {
    const secret = ofKind(objects, "Secret").find(({ metadata }) => metadata.name === name);
    const base64 = secret?.data?.[key];
    return base64 === undefined ? undefined : Buffer.from(base64, "base64").toString("utf8");
  };
  const settings = (container.envFrom ?? []).flatMap(({ configMapRef }) => {
    const map = ofKind(objects, "ConfigMap").find(({ metadata }) => metadata.name === configMapRef?.name);
    return Object.entries(map?.data ?? {});
  });
  const own = (container.env ?? []).flatMap(({ name, value, valueFrom }) => {
    const text = value ?? secretValue(valueFrom?.secretKeyRef?.name, valueFrom?.secretKeyRef?.key);
    return text === undefined ? [] : [[name, text]];
  });
  return Object.fromEntries([...settings, ...own]);
}
