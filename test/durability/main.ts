import { parseArgs } from "node:util";
import { ageOfOldest, losePower, tableOf } from "./power-loss.ts";
import type { PowerLoss } from "./power-loss.ts";

/*
 * `npm run durability -- --rounds 20`: many losses of power in each class, at random moments, and their figures. The exit
 * code is 1 when class durable, or a killed Redis in any class, lost something that was acknowledged.
 */

const { values } = parseArgs({ options: { rounds: { type: "string", default: "10" } } });
const CLASSES = ["durable", "fast"] as const;
const losses: PowerLoss[] = [];
for (const durability of CLASSES) {
  for (let round = 0; round < Number(values.rounds); round++) {
    losses.push(await losePower(durability, Math.random()));
  }
}
console.log(tableOf(losses));
for (const durability of CLASSES) {
  const some = losses.filter((loss) => loss.durability === durability);
  const lost = some.flatMap(({ lostByPower }) => lostByPower).length;
  const acknowledged = some.flatMap((loss) => loss.acknowledged).length;
  const oldest = Math.max(...some.map((loss) => ageOfOldest(loss, loss.lostByPower)));
  console.log(`${durability}: ${lost} of ${acknowledged} lost, the oldest acknowledged ${oldest} ms before`);
}
const isBroken = losses.some(
  ({ durability, lostByKill, lostByPower }) =>
    lostByKill.length > 0 || (durability === "durable" && lostByPower.length > 0),
);
process.exitCode = isBroken ? 1 : 0;
