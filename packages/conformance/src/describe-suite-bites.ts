import { describe, expect, test } from "vitest";
import { type Bite, createBite, declared, patiencesMax } from "./bite.ts";
import { mistakes as allMistakes } from "./mistakes/index.ts";
import type { Mistake } from "./mistakes/mistake.ts";
import { offersOf } from "./offers.ts";
import { hangGuardMs, parseOptions, type Settings } from "./settings.ts";
import type { DescribeLockNodeOptions } from "./subject.ts";
import { type Offers, type Proof, proofOf } from "./topics.ts";

/** What {@link describeSuiteBites} needs to know. */
export interface DescribeSuiteBitesOptions extends DescribeLockNodeOptions {
  /** The mistakes to make. Default: {@link mistakes}, all that the suite is known to catch. */
  readonly mistakes?: readonly Mistake[];
}

/**
 * Registers the tests that show the suite bite: takes a right node, makes one mistake after the other in it, and passes
 * when the test that is meant to catch the mistake fails, having passed for the right node before, under the same patience.
 *
 * @param name what the report calls the node
 * @param options those of {@link describeLockNode} for the right node
 * @throws {TypeError | RangeError} for bad options, before anything is made
 */
export function describeSuiteBites(name: string, options: DescribeSuiteBitesOptions): void {
  const settings = parseOptions(options);
  const { mistakes = allMistakes } = options;
  describe(`${name}, broken on purpose`, async () => {
    const offers = await offersOf(settings);
    const obstacles = new Map<string, number>();
    const bite = createBite(settings);
    for (const mistake of mistakes) {
      const proof = namedProof(mistake.caughtBy);
      const obstacle = obstacleTo(mistake, proof, offers, settings);
      if (obstacle !== undefined) obstacles.set(obstacle, (obstacles.get(obstacle) ?? 0) + 1);
      else registerBite(mistake, proof, settings, bite);
    }
    for (const [obstacle, count] of obstacles) {
      test(`not made, as ${obstacle}: ${count} of ${mistakes.length} mistakes`, () => {
        expect(count).toBeLessThan(mistakes.length);
      });
    }
  });
}

function registerBite(mistake: Mistake, proof: Proof, settings: Settings, bite: Bite): void {
  test(
    `a node that ${mistake.mistake}: caught by "${proof.statement}"`,
    ({ onTestFinished }) => bite(mistake, proof, onTestFinished),
    (patiencesMax + 1) * hangGuardMs(settings),
  );
}

/** Why a mistake cannot be made in this node, or is none. */
function obstacleTo(mistake: Mistake, proof: Proof, offers: Offers, { cannot }: Settings): string | undefined {
  const lacking = mistake.needs?.find((part) => !offers[part]);
  if (lacking !== undefined) return `the subject does not offer ${lacking}`;
  const limit = [...proof.needs, ...declared(mistake).map(([name]) => name)].find((name) => cannot.has(name));
  return limit && `${limit} is declared: ${cannot.get(limit)}`;
}

function namedProof(statement: string): Proof {
  const proof = proofOf(statement);
  if (proof === undefined) throw new TypeError(`the suite has no test "${statement}"`);
  return proof;
}
