import { z } from "zod";

/*
 * The kinds that are no part of Kubernetes itself, as far as we use them. Strict: what we do not use is unknown here, and whoever
 * needs more of them looks it up and adds it.
 */

const metadata = z.strictObject({
  name: z.string().regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/),
  namespace: z.string().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
});
const duration = z.string().regex(/^(\d+(ms|s|m|h))+$/);
const count = z.int().nonnegative();

/** https://prometheus-operator.dev/docs/api-reference/api/#monitoring.coreos.com/v1.ServiceMonitor */
const serviceMonitor = z.strictObject({
  apiVersion: z.literal("monitoring.coreos.com/v1"),
  kind: z.literal("ServiceMonitor"),
  metadata,
  spec: z.strictObject({
    selector: z.strictObject({ matchLabels: z.record(z.string(), z.string()) }),
    endpoints: z
      .array(
        z.strictObject({
          port: z.string(),
          path: z.string().startsWith("/"),
          interval: duration,
          scrapeTimeout: duration,
        }),
      )
      .min(1),
  }),
});

/** The autoscaler's own type, checked as that of an HPA where it stands alone. */
const scalingRules = z.strictObject({
  stabilizationWindowSeconds: z.int().min(0).max(3600).optional(),
  selectPolicy: z.enum(["Max", "Min", "Disabled"]).optional(),
  policies: z
    .array(
      z.strictObject({ type: z.enum(["Pods", "Percent"]), value: z.int().positive(), periodSeconds: count }),
    )
    .optional(),
});

/** https://keda.sh/docs/latest/reference/scaledobject-spec and its scaler `prometheus`, whose metadata are texts all. */
const scaledObject = z.strictObject({
  apiVersion: z.literal("keda.sh/v1alpha1"),
  kind: z.literal("ScaledObject"),
  metadata,
  spec: z.strictObject({
    scaleTargetRef: z.strictObject({
      apiVersion: z.string().optional(),
      kind: z.string().optional(),
      name: z.string(),
    }),
    pollingInterval: count.optional(),
    cooldownPeriod: count.optional(),
    minReplicaCount: count.optional(),
    maxReplicaCount: count.optional(),
    fallback: z
      .strictObject({
        failureThreshold: count,
        replicas: count,
        behavior: z
          .enum(["static", "currentReplicas", "currentReplicasIfHigher", "currentReplicasIfLower"])
          .optional(),
      })
      .optional(),
    advanced: z
      .strictObject({
        horizontalPodAutoscalerConfig: z.strictObject({
          behavior: z.strictObject({ scaleUp: scalingRules.optional(), scaleDown: scalingRules.optional() }),
        }),
      })
      .optional(),
    triggers: z
      .array(
        z.strictObject({
          type: z.literal("prometheus"),
          metricType: z.enum(["AverageValue", "Value"]).optional(),
          metadata: z.strictObject({
            serverAddress: z.url(),
            query: z.string(),
            threshold: z.string().regex(/^\d+(\.\d+)?$/),
            activationThreshold: z.string().optional(),
            ignoreNullValues: z.enum(["true", "false"]).optional(),
          }),
        }),
      )
      .min(1),
  }),
});

/** By `apiVersion/kind`. */
export const CUSTOM_RESOURCES: Readonly<Record<string, z.ZodType>> = {
  "monitoring.coreos.com/v1/ServiceMonitor": serviceMonitor,
  "keda.sh/v1alpha1/ScaledObject": scaledObject,
};

/** The values of prometheus-adapter's chart that we give: rules for the API of external metrics. */
export const adapterValues = z.strictObject({
  rules: z.strictObject({
    external: z
      .array(
        z.strictObject({
          seriesQuery: z.string(),
          resources: z.strictObject({
            overrides: z.record(z.string(), z.strictObject({ resource: z.string() })),
          }),
          name: z.strictObject({ as: z.string() }),
          metricsQuery: z.string(),
        }),
      )
      .min(1),
  }),
});
