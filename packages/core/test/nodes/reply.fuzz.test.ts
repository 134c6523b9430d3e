import { type Fault, fuzzSeed } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { world } from "../world.ts";

fc.configureGlobal({ seed: fuzzSeed });

const anyNumber = fc.oneof(
  fc.integer({ min: -1, max: 3 }),
  fc.double(),
  fc.constantFrom(2 ** 53, 2 ** 53 - 1, 2 ** 53 - 2 ** 50, 2 ** 53 - 2 ** 50 - 1),
);
const anyScalar = fc.oneof(anyNumber, fc.boolean(), fc.constantFrom("1", null, undefined, 7n, Symbol("s")));

/** Valid and nearly valid replies, and arbitrary values. */
const anyReply: fc.Arbitrary<unknown> = fc.oneof(
  fc.record({ granted: fc.boolean(), fence: anyNumber, retryAfterMs: anyScalar }, { requiredKeys: ["granted"] }),
  fc.record({ held: fc.boolean(), fence: anyNumber, rejoined: anyScalar }, { requiredKeys: ["held"] }),
  fc.record({ granted: anyScalar, held: anyScalar, fence: anyScalar, rejoined: anyScalar, released: anyScalar }),
  fc.anything({ withBigInt: true, withNullPrototype: true, withBoxedValues: true }),
);
/** Errors with a getter that throws. */
const hostileError: fc.Arbitrary<Error> = fc.constantFrom("code", "message", "name", "stack").map((property) =>
  Object.defineProperty(new Error("hostile"), property, {
    get() {
      throw new Error(`${property} cannot be read`);
    },
  }),
);
const anyReason = fc.oneof({ weight: 3, arbitrary: fc.anything() }, { weight: 1, arbitrary: hostileError });
const anyFault: fc.Arbitrary<Fault | undefined> = fc.oneof(
  { weight: 6, arbitrary: anyReply.map((answer) => ({ answer })) },
  { weight: 1, arbitrary: anyReason.map((reason) => ({ reject: reason })) },
  { weight: 1, arbitrary: anyReason.map((reason) => ({ throw: reason })) },
  { weight: 2, arbitrary: fc.constant(undefined) },
);
/** The replies of each of three nodes to acquire, to successive extends, and to release. */
const anyNodes = fc.array(
  fc.record({ acquire: anyFault, extend: fc.array(anyFault, { minLength: 1, maxLength: 4 }), release: anyFault }),
  { minLength: 3, maxLength: 3 },
);

const largestFence = 2 ** 53 - 2 ** 50;

function isFence(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) > 0 && (value as number) < largestFence;
}

/** Whether a node with this fault may have granted or held the claim with a valid fence. */
function maySay(fault: Fault | undefined, field: "granted" | "held"): boolean {
  if (fault === undefined) return true;
  const answer = fault.answer as Record<string, unknown> | null | undefined;
  return typeof answer === "object" && answer !== null && answer[field] === true && isFence(answer.fence);
}

describe("any reply (S12)", { timeout: 60_000 }, () => {
  it("acquire(), extend() and release() never hang, and never succeed without a quorum of valid replies", async () => {
    await fc.assert(
      fc.asyncProperty(anyNodes, async (behaviours) => {
        const { redlock, clock, nodes, expectNothingLeft } = world(3, { waitTimeoutMs: 0, ttlMs: 200 });
        for (const [index, node] of nodes.entries()) {
          const { acquire, extend, release } = behaviours[index] as (typeof behaviours)[number];
          let extensions = 0;
          node.fault = ({ method }) => {
            if (method === "extend") return extend[extensions++ % extend.length];
            return method === "acquire" ? acquire : release;
          };
        }
        const granting = behaviours.filter(({ acquire }) => maySay(acquire, "granted"));
        const lock = await clock.until(redlock.acquire("r").catch(() => undefined));
        if (lock === undefined) return;
        expect(granting.length).toBeGreaterThanOrEqual(2);
        expect(isFence(lock.fence)).toBe(true);
        const extended = await clock.until(
          lock.extend().then(
            () => true,
            () => false,
          ),
        );
        const holding = behaviours.filter(({ extend }) => extend.some((fault) => maySay(fault, "held")));
        if (extended) expect(holding.length).toBeGreaterThanOrEqual(2);
        await clock.until(lock.release().catch(() => {}));
        expect(lock.signal.aborted || lock.remainingMs() === 0).toBe(true);
        await expectNothingLeft(400);
      }),
      { numRuns: 150 },
    );
  });
});
