import type { V1Container } from "@kubernetes/client-node";
import { VARIABLES, parseConfig } from "@perdure/runtime";
import {
  type Workload,
  environmentOf,
  isSelected,
  ofKind,
  portNames,
  selects,
  workloadsOf,
} from "./cluster-objects.ts";
import type { Manifest } from "./render.ts";

/*
 * What types cannot say: each rule gives its problems, a line each. They hold for the base, the overlays and the chart alike.
 */

type Rule = (objects: readonly Manifest[]) => string[];

/** What an operator makes: in no render but that of the overlay which generates its own Secrets. */
const MADE_ELSEWHERE = new Set(["perdure-redis", "perdure-seal", "perdure-tls", "perdure-issuer"]);
const MADE_VALUES = {
  PERDURE_REDIS_URL: "rediss://user:password@redis.example.com:6379",
  PERDURE_SECRET: "the first key which seals from today on,the second key which opens what is left",
};
/** As deploy/Dockerfile sets them. */
const IMAGE_ENV = { PERDURE_HOST: "0.0.0.0", PERDURE_OPS_HOST: "0.0.0.0" };
/** What a process allows itself over PERDURE_DRAIN_MS before it exits all the same. */
const MARGIN_MS = 2000;

const forWorkloads =
  (rule: (workload: Workload, objects: readonly Manifest[]) => (string | false | undefined)[]): Rule =>
  (objects) =>
    workloadsOf(objects).flatMap((workload) =>
      rule(workload, objects)
        .filter((problem) => typeof problem === "string")
        .map((problem) => `${workload.name}: ${problem}`),
    );

const forContainers = (
  rule: (container: V1Container, workload: Workload) => (string | false | undefined)[],
): Rule => forWorkloads((workload) => workload.containers.flatMap((container) => rule(container, workload)));

/** By what each promises. */
export const RULES: Readonly<Record<string, Rule>> = {
  "every pod keeps to the restricted profile": forWorkloads(({ template, containers }) => {
    const { securityContext: pod, ...spec } = template.spec!;
    return [
      pod?.runAsNonRoot !== true && "may run as root",
      !(pod?.runAsUser && pod.runAsGroup) && "does not name its user and group",
      pod?.seccompProfile?.type !== "RuntimeDefault" && "has no seccomp profile",
      spec.automountServiceAccountToken !== false && "mounts a token of its service account",
      (spec.hostNetwork || spec.hostPID || spec.hostIPC) && "is not apart from its host",
      !!spec.volumes?.some(({ hostPath }) => hostPath) && "mounts a path of its host",
      ...containers.flatMap(({ securityContext: own }) => [
        own?.allowPrivilegeEscalation !== false && "may gain rights",
        own?.readOnlyRootFilesystem !== true && "may write to its image",
        own?.capabilities?.drop?.join() !== "ALL" && "keeps capabilities",
        own?.privileged && "is privileged",
      ]),
    ];
  }),

  "every image has a version": forContainers(({ image = "" }) => [
    !/(:[\w.-]+|@sha256:[0-9a-f]{64})$/.test(image) && `${image} has no version`,
    image.endsWith(":latest") && `${image} floats`,
  ]),

  "every container says what it needs, and its memory is bounded": forContainers(({ resources }) => [
    !resources?.requests?.["cpu"] && "requests no CPU",
    !resources?.requests?.["memory"] && "requests no memory",
    !resources?.limits?.["memory"] && "has no limit of memory",
  ]),

  "every container has three probes, on ports that it has": forContainers((container, workload) =>
    (["startupProbe", "readinessProbe", "livenessProbe"] as const).flatMap((name) => {
      const probe = container[name];
      const port = probe?.httpGet?.port ?? probe?.tcpSocket?.port;
      return [
        !probe && `has no ${name}`,
        port !== undefined && !portNames(workload).includes(String(port)) && `${name} asks port ${port}`,
      ];
    }),
  ),

  "our names of variables stay ours": forWorkloads(({ template }) => [
    template.spec?.enableServiceLinks !== false && "takes variables of Services",
  ]),

  "every variable exists, and no secret one is a setting": (objects) => {
    const known = new Map<string, { secret: boolean }>(
      VARIABLES.map((variable) => [variable.name, variable]),
    );
    const settings = ofKind(objects, "ConfigMap").flatMap(({ data = {} }) => Object.entries(data));
    const own = workloadsOf(objects)
      .filter(({ name }) => name !== "StatefulSet/perdure-redis")
      .flatMap(({ containers }) => containers.flatMap(({ env = [] }) => env));
    return [
      ...[...settings.map(([name]) => name), ...own.map(({ name }) => name)]
        .filter((name) => !known.has(name))
        .map((name) => `${name}: there is no such variable`),
      ...[
        ...settings,
        ...own.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const])),
      ]
        .filter(([name, value]) => known.get(name)?.secret || /:\/\/[^/]*:[^/]*@/.test(value))
        .map(([name]) => `${name}: a secret in plain sight`),
    ];
  },

  "a stop has the time that it needs": forWorkloads(({ name, template, containers }, objects) => {
    const graceMs = (template.spec?.terminationGracePeriodSeconds ?? 30) * 1000;
    return containers.map((container) => {
      const env = environmentOf(container, objects);
      const preStopMs = (container.lifecycle?.preStop?.sleep?.seconds ?? 0) * 1000;
      const delayMs = name === "Deployment/perdure-api" ? Number(env["PERDURE_SHUTDOWN_DELAY_MS"] ?? 0) : 0;
      const neededMs = preStopMs + delayMs + Number(env["PERDURE_DRAIN_MS"] ?? 10_000) + MARGIN_MS;
      return neededMs > graceMs && `takes up to ${neededMs} ms, and is killed after ${graceMs} ms`;
    });
  }),

  "every selector selects pods, and a workload its own": (objects) => {
    const workloads = workloadsOf(objects);
    const hits = (test: (workload: Workload) => boolean): boolean => workloads.some(test);
    return [
      ...workloads
        .filter(({ object, labels }) => !selects(object.spec!.selector, labels))
        .map(({ name }) => `${name}: does not select its pods`),
      ...ofKind(objects, "PodDisruptionBudget")
        .filter(({ spec }) => !hits(({ labels }) => selects(spec!.selector, labels)))
        .map((o) => `${o.kind}/${o.metadata.name}: selects nothing`),
      ...ofKind(objects, "NetworkPolicy")
        .filter(({ spec }) => !hits(({ labels }) => selects(spec!.podSelector, labels)))
        .map((o) => `${o.kind}/${o.metadata.name}: selects nothing`),
      ...ofKind(objects, "Service")
        .filter(({ spec }) => !hits(({ labels }) => isSelected(labels, spec!.selector)))
        .map((o) => `${o.kind}/${o.metadata.name}: selects nothing`),
    ];
  },

  "every pod is closed but for what is named": forWorkloads(({ labels }, objects) => {
    const policies = ofKind(objects, "NetworkPolicy").filter(({ spec }) =>
      selects(spec!.podSelector, labels),
    );
    const types = new Set(policies.flatMap(({ spec }) => spec!.policyTypes ?? []));
    return [!types.has("Ingress") && "anyone may come in", !types.has("Egress") && "may go anywhere"];
  }),

  "ports that are named are there": (objects) => {
    const workloads = workloadsOf(objects);
    const services = ofKind(objects, "Service");
    const missing = (at: string, port: unknown, of: readonly Workload[]): string[] =>
      typeof port === "string" && !of.some((workload) => portNames(workload).includes(port))
        ? [`${at}: no pod has a port ${port}`]
        : [];
    return [
      ...services.flatMap(({ metadata, spec }) => {
        const pods = workloads.filter(({ labels }) => isSelected(labels, spec!.selector));
        return spec!.ports!.flatMap(({ targetPort }) =>
          missing(`Service/${metadata.name}`, targetPort, pods),
        );
      }),
      ...ofKind(objects, "NetworkPolicy").flatMap(({ metadata, spec }) => {
        const pods = workloads.filter(({ labels }) => selects(spec!.podSelector, labels));
        const ports = (spec!.ingress ?? []).flatMap(({ ports = [] }) => ports);
        return ports.flatMap(({ port }) => missing(`NetworkPolicy/${metadata.name}`, port, pods));
      }),
      ...ofKind(objects, "ServiceMonitor").flatMap(({ metadata, spec: { selector, endpoints } }) => {
        const of = services.filter((one) => isSelected(one.metadata.labels ?? {}, selector.matchLabels));
        const ports = new Set(of.flatMap(({ spec }) => spec!.ports!.map(({ name }) => name)));
        return endpoints
          .filter(({ port }) => !ports.has(port))
          .map(
            ({ port }) => `ServiceMonitor/${metadata.name}: no Service that it selects has a port ${port}`,
          );
      }),
      ...ofKind(objects, "Ingress").flatMap(({ metadata, spec }) =>
        spec!.rules!.flatMap(({ http }) =>
          http!.paths.flatMap(({ backend }) => {
            const service = services.find((one) => one.metadata.name === backend.service?.name);
            const port = backend.service?.port?.name;
            const has = service?.spec!.ports!.some(({ name }) => name === port);
            return has
              ? []
              : [`Ingress/${metadata.name}: no Service ${backend.service?.name} with port ${port}`];
          }),
        ),
      ),
    ];
  },

  "an ingress lets streams through for as long as a call may take": (objects) =>
    ofKind(objects, "Ingress").flatMap(({ metadata }) => {
      const { annotations = {} } = metadata;
      const longest = Number(VARIABLES.find(({ field }) => field === "callTimeoutMs")?.default) / 1000;
      const seconds = Object.entries(annotations).filter(([name]) => /timeout/.test(name));
      const buffering = Object.entries(annotations).filter(([name]) => /proxy-buffering/.test(name));
      return [
        ...seconds
          .filter(([, value]) => !(Number.parseInt(value, 10) > longest))
          .map(([name]) => `${name}: too short`),
        ...buffering.filter(([, value]) => !/^(off|False)$/.test(value)).map(([name]) => `${name}: not off`),
        ...(seconds.length > 0 && buffering.length > 0
          ? []
          : [`Ingress/${metadata.name}: says nothing of streams`]),
      ];
    }),

  "one alone says how many pods there are": (objects) => {
    const scaled = [
      ...ofKind(objects, "HorizontalPodAutoscaler").map(({ spec }) => spec.scaleTargetRef.name),
      ...ofKind(objects, "ScaledObject").map(({ spec }) => spec.scaleTargetRef.name),
    ];
    return ofKind(objects, "Deployment").flatMap(({ metadata: { name }, spec }) => {
      const says = scaled.filter((target) => target === name).length + (spec!.replicas === undefined ? 0 : 1);
      return says === 1 ? [] : [`Deployment/${name}: ${says} say how many`];
    });
  },

  "what is referred to is there": (objects) => {
    const secrets = new Set(ofKind(objects, "Secret").map(({ metadata }) => metadata.name));
    const maps = new Set(ofKind(objects, "ConfigMap").map(({ metadata }) => metadata.name));
    const accounts = new Set(
      objects.filter(({ kind }) => kind === "ServiceAccount").map((o) => o.metadata.name),
    );
    const names = objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
    return [
      ...names.filter((name, at) => names.indexOf(name) !== at).map((name) => `${name}: is there twice`),
      ...workloadsOf(objects).flatMap(({ name, template, containers }) => {
        const { serviceAccountName: account, volumes = [] } = template.spec!;
        const wanted = [
          ...containers.flatMap(({ env = [] }) => env.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name)),
          ...volumes.map(({ secret }) => secret?.secretName),
        ].filter((one) => one !== undefined && !secrets.has(one));
        const settings = [
          ...containers.flatMap(({ envFrom = [] }) => envFrom.map(({ configMapRef }) => configMapRef?.name)),
          ...volumes.map(({ configMap }) => configMap?.name),
        ].filter((one) => one !== undefined && !maps.has(one));
        return [
          ...[...wanted, ...settings]
            .filter((one) => !MADE_ELSEWHERE.has(one ?? ""))
            .map((one) => `${name}: no ${one}`),
          ...(account === undefined || accounts.has(account) ? [] : [`${name}: no account ${account}`]),
        ];
      }),
    ];
  },
};

/** What a role says at its start to the variables that it gets; none when it would start. */
export function startProblems(objects: readonly Manifest[]): string[] {
  return workloadsOf(objects).flatMap(({ labels, containers }) => {
    const role = labels["app.kubernetes.io/component"];
    if (role !== "api" && role !== "worker") return [];
    const made = role === "api" ? MADE_VALUES : { PERDURE_REDIS_URL: MADE_VALUES.PERDURE_REDIS_URL };
    try {
      parseConfig({ ...IMAGE_ENV, ...made, ...environmentOf(containers[0]!, objects) }, { role });
      return [];
    } catch (error) {
      return [`${role}: ${String(error)}`];
    }
  });
}
