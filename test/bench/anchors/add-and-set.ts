import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { doInFlight, type InFlight } from "../programs/in-flight.ts";
import { serve } from "../programs/program.ts";

/*
 * `add-and-set.ts URL [job]`: a BullMQ job of ids, and a SET of as much data as a task's record has; with `job` the job alone.
 */

const [url = "", kind = "job and record"] = process.argv.slice(2);
const redis = new Redis(url);
const queue = new Queue("anchor", { connection: redis });
await queue.waitUntilReady();
const record = "a".repeat(1400);
let lastId = 0;

serve({
  run: (shape: InFlight) =>
    doInFlight(shape, async () => {
      lastId += 1;
      if (kind !== "job") await redis.set(`anchor:${process.pid}:${lastId}`, record);
      await queue.add("work", { id: lastId }, { removeOnComplete: true, removeOnFail: true });
    }),
});
