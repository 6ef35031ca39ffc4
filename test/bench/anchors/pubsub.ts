import { Redis } from "ioredis";
import { sharedMs } from "../programs/clock.ts";
import { doPaced, type Paced } from "../programs/paced.ts";
import { serve } from "../programs/program.ts";

/** `pubsub.ts URL`: one process publishes the time at a pace, another one notes how old each message is. Start two. */
const [url = ""] = process.argv.slice(2);
const redis = new Redis(url);
const CHANNEL = "anchor:hints";
let ages: number[] = [];

serve({
  async subscribe() {
    await redis.subscribe(CHANNEL);
    redis.on("message", (_, at) => ages.push(sharedMs() - Number(at)));
  },
  commit: (pace: Paced) => doPaced(pace, () => redis.publish(CHANNEL, String(sharedMs()))),
  count: () => ages.length,
  takeAges() {
    const taken = ages;
    ages = [];
    return taken;
  },
});
