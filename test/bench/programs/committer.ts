import { type Claim } from "@perdure/tasks";
import { inBatches, newTask, openPorts, TENANT_REF } from "../stand.ts";
import { sharedMs } from "./clock.ts";
import { doPaced, type Paced } from "./paced.ts";
import { serve } from "./program.ts";

/** `committer.ts URL`: holds tasks as a worker does, and commits changes of them that tell when they were made. */
const [url = ""] = process.argv.slice(2);
const ports = await openPorts(url);
let claims: readonly Claim[] = [];

serve(
  {
    async hold(count: number) {
      claims = await inBatches(count, async () => {
        const { taskId, ...rest } = newTask();
        await ports.store.create({ taskId, ...rest });
        const reply = await ports.leases.claim({ tenantRef: TENANT_REF, taskId });
        if (reply.verdict !== "claimed") throw new Error(`The task is not to be had: ${reply.verdict}`);
        return reply.task.claim;
      });
      return claims.map(({ ref }) => ref.taskId);
    },
    commit: (pace: Paced) =>
      doPaced(pace, (index) => ports.leases.progress(claims[index % claims.length]!, `at ${sharedMs()}`)),
  },
  () => ports.stop(),
);
