import { Worker } from "bullmq";
import { Redis } from "ioredis";
import { serve } from "../programs/program.ts";

/** `noop-worker.ts URL CONCURRENCY`: takes BullMQ jobs and does nothing. */
const [url = "", concurrency = "1"] = process.argv.slice(2);
const connection = new Redis(url, { maxRetriesPerRequest: null });
let done = 0;
const worker = new Worker("anchor", async () => {}, { connection, concurrency: Number(concurrency) });
worker.on("completed", () => {
  done += 1;
});
await worker.waitUntilReady();

serve({ done: () => done }, () => worker.close(true));
