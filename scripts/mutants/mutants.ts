import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { root, scripts } from "../lib/workspace.ts";

/** The text `from` in a file, replaced by `to`. */
export interface FaultyText {
  /** The folder of the package. Default `core`. */
  readonly package?: "core" | "membership";
  /** The file, from the `src` of the package. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** A fault that breaks a rule. */
export interface Mutant extends FaultyText {
  /** The rule that is broken. */
  readonly rule: string;
  /** The behaviour with the fault. */
  readonly fault: string;
  /** One mutant of each rule names a test file of core that fails. */
  readonly noticedBy?: string;
  /** Whether the simulation also finds a violation. */
  readonly isSimulated?: boolean;
  /** The class of faults under which it finds it. Default `survivable`. */
  readonly faults?: "survivable" | "healed" | "changing";
}

/** Returns the path of the file. */
export function pathOf({ package: name = "core", file }: FaultyText): string {
  return join(root, "packages", name, "src", file);
}

/** Returns the faults whose text is not exactly once in its file, described. */
export async function lostTexts(faults: readonly FaultyText[]): Promise<readonly string[]> {
  const lost: string[] = [];
  for (const fault of faults) {
    const count = (await readFile(pathOf(fault), "utf8")).split(fault.from).length - 1;
    if (count !== 1) lost.push(`${fault.file} contains this ${count} times, which a fault replaces: ${fault.from}`);
  }
  return lost;
}

/** Test files of core that take long, or that would also fail on a busy machine. */
export const slow: readonly string[] = ["*.fuzz", "leaks", "system-clock", "turns"];

/** Every rule of core and membership, broken in the ways that are likely: see `mutants.yml`. */
export const mutants: readonly Mutant[] = Object.entries(listed()).flatMap(([rule, faults]) =>
  faults.map((fault) => ({ rule, ...fault })),
);

function listed(): Readonly<Record<string, readonly Omit<Mutant, "rule">[]>> {
  return parse(readFileSync(join(scripts, "mutants/mutants.yml"), "utf8"));
}
