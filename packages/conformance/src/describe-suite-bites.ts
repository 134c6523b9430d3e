import { describe, expect, test } from "vitest";
import { mistakes as allMistakes } from "./mistakes/index.ts";
import type { Mistake } from "./mistakes/mistake.ts";
import { offersOf } from "./offers.ts";
import { parseOptions, type Settings } from "./settings.ts";
import type { DescribeLockNodeOptions } from "./subject.ts";
import { type CleanUp, type Offers, type Proof, proofOf } from "./topics.ts";

/** What {@link describeSuiteBites} needs to know. */
export interface DescribeSuiteBitesOptions extends DescribeLockNodeOptions {
  /** The mistakes to make. Default: {@link mistakes}, all that the suite is known to catch. */
  readonly mistakes?: readonly Mistake[];
}

/** How long what a mistake may keep from ever happening is waited for, in milliseconds. */
const bitePatienceMs = 500;

/**
 * Registers the tests that show the suite bite: takes a right node, makes one mistake after the other in it, and passes
 * when the test that is meant to catch the mistake fails, having passed for the right node before.
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
    const rightNode = createRightNode(settings);
    for (const mistake of mistakes) {
      const proof = namedProof(mistake.caughtBy);
      const obstacle = obstacleTo(mistake, proof, offers, settings);
      if (obstacle !== undefined) obstacles.set(obstacle, (obstacles.get(obstacle) ?? 0) + 1);
      else registerBite(mistake, proof, settings, rightNode);
    }
    for (const [obstacle, count] of obstacles) {
      test(`not made, as ${obstacle}: ${count} of ${mistakes.length} mistakes`, () => {
        expect(count).toBeLessThan(mistakes.length);
      });
    }
  });
}

type RightNode = (proof: Proof, cleanUp: CleanUp) => Promise<void>;

/** Has the right node pass each test once: one that failed it, too, would catch nothing. */
function createRightNode(settings: Settings): RightNode {
  const passed = new Set<Proof>();
  return async (proof, cleanUp) => {
    if (!passed.has(proof)) await proof.prove(settings, cleanUp);
    passed.add(proof);
  };
}

function registerBite(mistake: Mistake, proof: Proof, settings: Settings, rightNode: RightNode): void {
  test(
    `a node that ${mistake.mistake}: caught by "${proof.statement}"`,
    async ({ onTestFinished }) => {
      // A right node does not pass for one with a limit that it does not have.
      if (mistake.cannot === undefined) await rightNode(proof, onTestFinished);
      await expectBite(mistake, proof, settings, onTestFinished);
    },
    4 * settings.patienceMs,
  );
}

async function expectBite(mistake: Mistake, proof: Proof, settings: Settings, cleanUp: CleanUp): Promise<void> {
  let isMade = false;
  const broken: Settings = {
    ...settings,
    cannot: new Map([...settings.cannot, ...declared(mistake)]),
    patienceMs: Math.min(bitePatienceMs, settings.patienceMs),
    async create() {
      const subject = await mistake.create(settings.create);
      isMade = true;
      return subject;
    },
  };
  const outcome = await proof.prove(broken, cleanUp).then(
    () => "passed",
    () => "failed",
  );
  expect(isMade, "the node with the mistake could be made").toBe(true);
  expect(outcome, `the test "${proof.statement}"`).toBe("failed");
}

/** Why a mistake cannot be made in this node, or is none. */
function obstacleTo(mistake: Mistake, proof: Proof, offers: Offers, { cannot }: Settings): string | undefined {
  const lacking = mistake.needs?.find((part) => !offers[part]);
  if (lacking !== undefined) return `the subject does not offer ${lacking}`;
  const limit = [...proof.needs, ...declared(mistake).map(([name]) => name)].find((name) => cannot.has(name));
  return limit && `${limit} is declared: ${cannot.get(limit)}`;
}

function declared({ cannot = {} }: Mistake): [keyof typeof cannot, string][] {
  return Object.entries(cannot) as [keyof typeof cannot, string][];
}

function namedProof(statement: string): Proof {
  const proof = proofOf(statement);
  if (proof === undefined) throw new TypeError(`the suite has no test "${statement}"`);
  return proof;
}
