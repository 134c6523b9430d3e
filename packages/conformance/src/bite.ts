import { expect } from "vitest";
import type { Mistake } from "./mistakes/mistake.ts";
import type { Limit, Settings } from "./settings.ts";
import type { CleanUp, Proof } from "./topics.ts";

/** Fails unless the proof fails for a node with the mistake, and passes for the right node under the same conditions. */
export type Bite = (mistake: Mistake, proof: Proof, cleanUp: CleanUp) => Promise<void>;

/** How long what a mistake may keep from ever happening is waited for, in milliseconds, where the right node needs no more. */
const shortPatiencesMs = [500, 2_000];

/** How many patiences are tried at most, so that what a bite may take can be told beforehand. */
export const patiencesMax: number = shortPatiencesMs.length + 1;

/** Makes the bites in one right node, which passes each proof once. */
export function createBite(right: Settings): Bite {
  const patiencesMs = new Map<Proof, number>();
  return async (mistake, proof, cleanUp) => {
    let patienceMs = right.patienceMs;
    // A right node does not pass for one with a limit that it does not have: what is broken has all the time, then.
    if (mistake.cannot === undefined) {
      patienceMs = patiencesMs.get(proof) ?? (await patienceOf(right, proof, cleanUp));
      patiencesMs.set(proof, patienceMs);
    }
    await expectBite({ ...brokenBy(mistake, right), patienceMs }, proof, cleanUp);
  };
}

/** The limits that a mistake declares. */
export function declared({ cannot = {} }: Mistake): [Limit, string][] {
  return Object.entries(cannot) as [Limit, string][];
}

/** How much patience the right node needs to pass. With less, the node with the mistake would fail whatever it did. */
async function patienceOf(right: Settings, proof: Proof, cleanUp: CleanUp): Promise<number> {
  for (const patienceMs of shortPatiencesMs.filter((ms) => ms < right.patienceMs)) {
    try {
      await provenBy({ ...right, patienceMs }, proof, cleanUp);
      return patienceMs;
    } catch {
      // Whether it is the node that fails, or only the patience, shows with more of it.
    }
  }
  await provenBy(right, proof, cleanUp);
  return right.patienceMs;
}

async function provenBy(settings: Settings, proof: Proof, cleanUp: CleanUp): Promise<void> {
  const prove = await proof.prepare(settings, cleanUp);
  await prove();
}

function brokenBy(mistake: Mistake, right: Settings): Settings {
  return {
    ...right,
    cannot: new Map([...right.cannot, ...declared(mistake)]),
    create: () => mistake.create(right.create),
  };
}

async function expectBite(broken: Settings, proof: Proof, cleanUp: CleanUp): Promise<void> {
  // A node that cannot even be made shows nothing: only the proof's own failure counts.
  const prove = await proof.prepare(broken, cleanUp);
  const outcome = await prove().then(
    () => "passed",
    () => "failed",
  );
  expect(outcome, `the test "${proof.statement}"`).toBe("failed");
}
