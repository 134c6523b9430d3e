/**
 * `pnpm soak`: does everything that locks can do, at full speed, over memory nodes and real servers, and measures what it
 * leaves behind. Exits with 1 when memory grows, or anything keeps the process alive afterwards. See README.md.
 */
import { parseArgs } from "node:util";
import { heapMb, leftSince } from "./leftovers.ts";
import { type Counts, noCounts, work } from "./work.ts";
import { openWorlds, type World } from "./worlds.ts";

/** Code that is compiled late and the caches of the clients take some, whatever the time. */
const growthMaxMb = 3;

const minutes = minutesOf(process.argv.slice(2));

const hung = setTimeout(
  () => {
    console.log("FAILED: an operation hangs");
    process.exit(1);
  },
  minutes * 60_000 * 2 + 60_000,
);
hung.unref();

const before = process.getActiveResourcesInfo();
const worlds = await openWorlds();
const warmUp = noCounts();
await workFor(minutes * 60_000 * 0.4, worlds, warmUp);
const heapBeforeMb = await heapMb();
const counts = noCounts();
const startedAtMs = performance.now();
await workFor(minutes * 60_000 * 0.6, worlds, counts);
const seconds = (performance.now() - startedAtMs) / 1_000;
const heapAfterMb = await heapMb();
for (const world of worlds) await world.close();
const left = await leftSince(before);

const grownMb = heapAfterMb - heapBeforeMb;
const isIdle = Object.entries(counts).some(([deed, count]) => deed !== "refused" && count === 0);
const problems = [
  ...(grownMb > growthMaxMb ? [`the heap has grown by more than ${growthMaxMb} MB`] : []),
  ...(left.length > 0 ? [`${left.length} resources are left: ${[...new Set(left)].join(", ")}`] : []),
  ...(isIdle ? ["something was never done"] : []),
];
console.log(report());
for (const problem of problems) console.log(`FAILED: ${problem}`);
process.exit(problems.length > 0 ? 1 : 0); // whatever is left open

async function workFor(ms: number, where: readonly World[], done: Counts): Promise<void> {
  const endMs = performance.now() + ms;
  await work(where, done, () => performance.now() > endMs);
}

function report(): string {
  const { using, extended, tried, waited, gaveUp, refused } = counts;
  const sum = using + extended + tried + waited + gaveUp + refused;
  const mb = (value: number): string => `${value.toFixed(1)} MB`;
  return [
    `over        ${worlds.map(({ name }) => name).join(", ")}`,
    `operations  ${sum.toLocaleString("en")} in ${seconds.toFixed(0)} s, after a warm-up`,
    `            ${using} using, ${extended} extended, ${tried} tried, ${waited} waited, ${gaveUp} gave up, ${refused} refused`,
    `heap        ${mb(heapBeforeMb)} after the warm-up, ${mb(heapAfterMb)} at the end (at most ${growthMaxMb} MB more)`,
    `left open   ${left.length}`,
  ].join("\n");
}

/** Reads the command line. Ends the process where there is nothing to do. */
function minutesOf(args: readonly string[]): number {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { minutes: { type: "string", default: "0.15" }, help: { type: "boolean", default: false } },
    });
    if (values.help) {
      console.log(
        "Usage: pnpm soak [--minutes N]\n\nLocks at full speed for so long (default 0.15), and what is left behind.",
      );
      process.exit(0);
    }
    const minutes = Number(values.minutes);
    if (minutes > 0 && minutes <= 600) return minutes;
    throw new RangeError(`--minutes must be above 0 and at most 600, not ${values.minutes}`);
  } catch (error) {
    console.error(`soak: ${(error as Error).message}`);
    process.exit(2);
  }
}
