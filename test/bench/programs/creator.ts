import { newTask, openPorts } from "../stand.ts";
import { doInFlight, type InFlight } from "./in-flight.ts";
import { serve } from "./program.ts";

/** Creates tasks as a replica does, without HTTP: `creator.ts URL DURABILITY`. */
const [url = "", durability = "ephemeral"] = process.argv.slice(2);
const ports = await openPorts(url, { durability: durability === "durable" ? durability : "ephemeral" });

serve(
  {
    run: (shape: InFlight) =>
      doInFlight(shape, async () => {
        const task = newTask();
        const created = await ports.store.create(task);
        if (created.verdict !== "created") throw new Error(`No task was created: ${created.verdict}`);
        // A replica does not wait for the wake-up; here it is waited for, so that none is left out of the count.
        await ports.wakeUps.send(created.wakeUp);
      }),
  },
  () => ports.stop(),
);
