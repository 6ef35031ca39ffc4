import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { createKubectl } from "./kubectl.ts";
import { load } from "./load.ts";
import { presentFigures, walkCluster } from "./walk-cluster.ts";
import { walkObjects } from "./walk-objects.ts";

/*
 * npm run test:kubernetes -- [--image NAME] [--keep]
 *
 * Walks through the overlay single-node on the cluster that KUBECONFIG names, in a namespace of its own, which it takes away again.
 * Exits with 0 when no request failed and no task was lost, with 1 when some did, and with 2 when there is no cluster to walk.
 */
async function main(): Promise<number> {
  const { values } = parseArgs({ options: { image: { type: "string" }, keep: { type: "boolean" } } });
  if (!process.env["KUBECONFIG"]) {
    console.error(
      "Say in KUBECONFIG which cluster to walk: KUBECONFIG=~/.kube/config npm run test:kubernetes",
    );
    return 2;
  }
  const namespace = `perdure-walk-${randomBytes(3).toString("hex")}`;
  const interrupted = new AbortController();
  process.once("SIGINT", () => interrupted.abort());
  const kubectl = await createKubectl(namespace, interrupted.signal);
  const objects = await walkObjects({ namespace, image: values.image });
  try {
    const { isGood, text } = presentFigures(await walkCluster({ kubectl, objects, load, say: console.log }));
    console.log(text);
    return isGood ? 0 : 1;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    const pods = ["get", "pods,events", "--sort-by=.metadata.creationTimestamp"];
    if (!interrupted.signal.aborted) console.error(await kubectl.run(pods).catch(String));
    return 1;
  } finally {
    if (values.keep) console.log(`Kept: kubectl --namespace ${namespace} get pods`);
    else {
      const cleaner = await createKubectl(namespace, AbortSignal.timeout(60_000));
      await cleaner
        .run(["delete", "namespace", namespace, "--ignore-not-found", "--wait=false"])
        .catch(console.error);
    }
  }
}

process.exitCode = await main();
