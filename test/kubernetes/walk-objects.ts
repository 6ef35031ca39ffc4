import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { SignJWT, calculateJwkThumbprint, exportJWK, generateKeyPair } from "jose";
import { type Manifest, renderKustomize } from "./render.ts";

/** What is applied in a walk, and the token that its clients use. */
export interface WalkObjects {
  /** The overlay single-node in the walk's own namespace, and the issuer that its replicas trust. */
  readonly overlay: readonly Manifest[];
  /** The clients, and the policy that lets them in. */
  readonly load: readonly Manifest[];
  readonly token: string;
}

/** How a walk differs from what an operator applies. */
export interface WalkChoice {
  readonly namespace: string;
  /** In place of the published image: one that the cluster already has. */
  readonly image?: string | undefined;
}

const OUR_IMAGE = /^ghcr\.io\/perdure\/perdure:/;
/** Of the pod with the clients. */
export const LOAD_POD = "walk-load";
/** Makes the clients come to an end. */
export const STOP_FILE = "/tmp/stop";

/** Everything, with a key that is made for this walk and kept nowhere. */
export async function walkObjects({ namespace, image }: WalkChoice): Promise<WalkObjects> {
  const rendered = await renderKustomize("overlays/single-node");
  const { jwks, token } = await makeIssuer();
  const overlay = rendered.map((object) => {
    const isNamespace = object.kind === "Namespace";
    const metadata = { ...object.metadata, ...(isNamespace ? { name: namespace } : { namespace }) };
    return image === undefined ? { ...object, metadata } : withImage({ ...object, metadata }, image);
  });
  const isFirst = (object: Manifest): boolean => object.kind === "Namespace";
  const issuer = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "perdure-issuer", namespace },
    data: { "jwks.json": jwks },
  };
  return {
    overlay: [...overlay.filter(isFirst), issuer, ...overlay.filter((object) => !isFirst(object))],
    load: await loadObjects({ namespace, token, image: image ?? imageOf(rendered) }),
    token,
  };
}

function withImage(object: Manifest, image: string): Manifest {
  return JSON.parse(JSON.stringify(object), (key, value: unknown) =>
    key === "image" && typeof value === "string" && OUR_IMAGE.test(value) ? image : value,
  );
}

function imageOf(objects: readonly Manifest[]): string {
  const images: string[] = [];
  JSON.stringify(objects, (key, value: unknown) => {
    if (key === "image" && typeof value === "string" && OUR_IMAGE.test(value)) images.push(value);
    return value;
  });
  if (images[0] === undefined) throw new Error("The overlay has no pod of our image");
  return images[0];
}

/** The overlay's settings say which issuer and audience; the keys are the walk's own. */
async function makeIssuer(): Promise<{ jwks: string; token: string }> {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const jwk = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint(jwk);
  const token = await new SignJWT({ tenant: "walk" })
    .setProtectedHeader({ alg: "ES256", kid })
    .setIssuer("http://localhost:9402")
    .setAudience("perdure-dev")
    .setSubject("walker")
    .setIssuedAt()
    .setExpirationTime("2 h")
    .sign(privateKey);
  return { jwks: JSON.stringify({ keys: [{ ...jwk, kid, alg: "ES256", use: "sig" }] }), token };
}

async function loadObjects({
  namespace,
  token,
  image,
}: {
  readonly namespace: string;
  readonly token: string;
  readonly image: string;
}): Promise<Manifest[]> {
  const program = await readFile(fileURLToPath(new URL("load.ts", import.meta.url)), "utf8");
  const labels = { "app.kubernetes.io/name": LOAD_POD };
  const env = {
    WALK_URL: "http://perdure-api:3000/mcp",
    WALK_TOKEN: token,
    WALK_CLIENTS: "8",
    WALK_STOP_FILE: STOP_FILE,
  };
  return [
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: LOAD_POD, namespace },
      data: { "load.mts": program },
    },
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: LOAD_POD, namespace },
      spec: {
        podSelector: { matchLabels: { "app.kubernetes.io/component": "api" } },
        policyTypes: ["Ingress"],
        ingress: [{ from: [{ podSelector: { matchLabels: labels } }], ports: [{ port: "mcp" }] }],
      },
    },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: LOAD_POD, namespace, labels },
      spec: {
        restartPolicy: "Never",
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 1000,
          runAsGroup: 1000,
          seccompProfile: { type: "RuntimeDefault" },
        },
        containers: [
          {
            name: "load",
            image,
            args: ["/walk/load.mts"],
            env: Object.entries(env).map(([name, value]) => ({ name, value })),
            resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "256Mi" } },
            securityContext: {
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ["ALL"] },
            },
            volumeMounts: [
              { name: "program", mountPath: "/walk", readOnly: true },
              { name: "tmp", mountPath: "/tmp" },
            ],
          },
        ],
        volumes: [
          { name: "program", configMap: { name: LOAD_POD } },
          { name: "tmp", emptyDir: { sizeLimit: "16Mi" } },
        ],
      },
    },
  ];
}
