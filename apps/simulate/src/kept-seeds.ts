import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type Checker, type FaultClassName, faultClasses, type Tally } from "@holdfast/simulation";

/** Seeds that have broken a promise, by their class. Nightly, the tests simulate all of them. */
export type KeptSeeds = Readonly<Partial<Record<FaultClassName, readonly number[]>>>;

const path = fileURLToPath(new URL("../kept-seeds.json", import.meta.url));

/** Reads the kept seeds. */
export async function readKeptSeeds(): Promise<KeptSeeds> {
  return JSON.parse(await readFile(path, "utf8")) as KeptSeeds;
}

/** Adds the first seed for each promise that was broken. */
export async function keepSeeds(faults: FaultClassName, tally: Tally): Promise<void> {
  const seeds = await readKeptSeeds();
  const all = new Set([...(seeds[faults] ?? []), ...brokenBy(faults, tally).map(({ seed }) => seed)]);
  const sorted = { ...seeds, [faults]: [...all].sort((a, b) => a - b) };
  const lines = Object.entries(sorted).map(([name, list]) => `  ${JSON.stringify(name)}: [${list.join(", ")}]`);
  await writeFile(path, `{\n${lines.join(",\n")}\n}\n`);
}

/** Returns the promises that were broken, and the first seed for each. */
export function brokenBy(faults: FaultClassName, { violations }: Tally): { checker: Checker; seed: number }[] {
  const { mayBreak } = faultClasses[faults];
  return (Object.keys(violations) as Checker[]).flatMap((checker) => {
    const seed = violations[checker].firstSeed;
    return seed === undefined || mayBreak.includes(checker) ? [] : [{ checker, seed }];
  });
}
