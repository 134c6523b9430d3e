import { expect } from "vitest";
import type { BrokenNode } from "./broken-nodes/broken-node.ts";
import { type Limit, reasonsOf, type Settings } from "./settings.ts";
import type { CleanUp, Proof } from "./topics.ts";

/** Rejects unless the proof fails for the broken node and passes for the correct one under the same conditions. */
export type ExpectCaught = (broken: BrokenNode, proof: Proof, cleanUp: CleanUp) => Promise<void>;

/** Timeouts to try first, in milliseconds. A node that never does what it must would use up the full timeout. */
const shortTimeoutsMs = [500, 2_000];

/** The number of timeouts to try at most, which bounds how long one {@link ExpectCaught} takes. */
export const timeoutsMax: number = shortTimeoutsMs.length + 1;

/** Creates an {@link ExpectCaught} for one correct node, which runs each proof once. */
export function createExpectCaught(correct: Settings): ExpectCaught {
  const timeoutsMs = new Map<Proof, number>();
  return async (broken, proof, cleanUp) => {
    let { timeoutMs } = correct;
    // A correct node fails under a limit that it does not have, so it cannot set the timeout: the broken node gets all
    // of it.
    if (broken.cannot === undefined) {
      timeoutMs = timeoutsMs.get(proof) ?? (await timeoutFor(correct, proof, cleanUp));
      timeoutsMs.set(proof, timeoutMs);
    }
    await expectFailure({ ...brokenBy(broken, correct), timeoutMs }, proof, cleanUp);
  };
}

/** Returns the limits that a broken node declares, with their reasons. */
export function declared({ cannot = {} }: BrokenNode): [Limit, string][] {
  return [...reasonsOf(cannot)];
}

/** Finds a timeout with which the correct node passes. With a shorter one, the broken node would fail in any case. */
async function timeoutFor(correct: Settings, proof: Proof, cleanUp: CleanUp): Promise<number> {
  for (const timeoutMs of shortTimeoutsMs.filter((ms) => ms < correct.timeoutMs)) {
    try {
      await expectPass({ ...correct, timeoutMs }, proof, cleanUp);
      return timeoutMs;
    } catch {
      // A longer timeout shows whether the node is wrong or only needs more time.
    }
  }
  await expectPass(correct, proof, cleanUp);
  return correct.timeoutMs;
}

async function expectPass(settings: Settings, proof: Proof, cleanUp: CleanUp): Promise<void> {
  const prove = await proof.prepare(settings, cleanUp);
  await prove();
}

function brokenBy(broken: BrokenNode, correct: Settings): Settings {
  return {
    ...correct,
    cannot: new Map([...correct.cannot, ...declared(broken)]),
    resourcesMax: broken.cannot?.manyResources?.max ?? correct.resourcesMax,
    nameBytesMax: broken.cannot?.longNames?.max ?? correct.nameBytesMax,
    create: () => broken.create(correct.create),
  };
}

async function expectFailure(broken: Settings, proof: Proof, cleanUp: CleanUp): Promise<void> {
  // A subject that cannot be created is an error, not a caught broken node: only a failure of the proof itself counts.
  const prove = await proof.prepare(broken, cleanUp);
  const outcome = await prove().then(
    () => "passed",
    () => "failed",
  );
  expect(outcome, `the test "${proof.statement}"`).toBe("failed");
}
