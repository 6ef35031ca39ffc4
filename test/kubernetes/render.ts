import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";
import { kubernetesTools, output } from "./tools.ts";

/** Where the kustomize folders and the chart are. */
export const DEPLOY = fileURLToPath(new URL("../../deploy/kubernetes", import.meta.url));

/** An object as it would be sent to the API server. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  /** What the kind has: `spec`, `data`. */
  readonly [field: string]: unknown;
}

/** The objects of a kustomize folder; a path that is not absolute is below deploy/kubernetes. */
export async function renderKustomize(folder: string): Promise<Manifest[]> {
  const { kubectl } = await kubernetesTools();
  return parseManifests(await output({ file: kubectl, args: ["kustomize", folder], cwd: DEPLOY }));
}

/** The objects of the Helm chart in namespace `perdure`, with values as a values file would have them. */
export async function renderChart(values: Readonly<Record<string, unknown>> = {}): Promise<Manifest[]> {
  const { helm } = await kubernetesTools();
  const args = ["template", "perdure", DEPLOY, "--namespace", "perdure", "--values", "-"];
  // A home of its own: a machine's repositories and plugins have no say.
  const nowhere = join(tmpdir(), "perdure-no-helm-home");
  const env = {
    ...process.env,
    HELM_CONFIG_HOME: nowhere,
    HELM_DATA_HOME: nowhere,
    HELM_CACHE_HOME: nowhere,
  };
  return parseManifests(await output({ file: helm, args, env, input: JSON.stringify(values) }));
}

/** Reads the documents of a YAML stream; empty ones are left out. Throws for what is no YAML, or no object of Kubernetes. */
export function parseManifests(text: string): Manifest[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors[0]) throw document.errors[0];
    const value: unknown = document.toJS();
    if (value === null) return [];
    if (!isManifest(value))
      throw new Error(`Not an object of Kubernetes: ${JSON.stringify(value).slice(0, 200)}`);
    return [value];
  });
}

function isManifest(value: unknown): value is Manifest {
  return (
    isRecord(value) &&
    typeof value["apiVersion"] === "string" &&
    typeof value["kind"] === "string" &&
    isRecord(value["metadata"]) &&
    typeof value["metadata"]["name"] === "string"
  );
}

/** True for a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
