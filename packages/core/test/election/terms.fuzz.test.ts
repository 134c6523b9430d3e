import { Redlock } from "@holdfast/core";
import { type Fault, FaultyNode, fuzzSeed, isNightly } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { candidate, expectInOrder } from "../support/candidate.ts";
import { type World, world } from "../world.ts";

fc.configureGlobal({ seed: fuzzSeed });

const ttlMs = 1_000;
const candidateCount = 3;
const nodeCount = 3;

/** An event that strikes one candidate, and the time until the next one. */
const anyEvent = fc.record({
  candidate: fc.nat(candidateCount - 1),
  what: fc.oneof(
    fc
      .constantFrom("resign", "resign election", "extend", "end body", "stop", "cut off", "heal")
      .map((kind) => ({ kind })),
    fc.record({
      kind: fc.constant("fault"),
      node: fc.nat(nodeCount - 1),
      requestMs: fc.integer({ min: 0, max: 80 }),
      replyMs: fc.integer({ min: 0, max: 80 }),
      lose: fc.option(fc.constantFrom("request" as const, "reply" as const), { nil: undefined, freq: 3 }),
    }),
  ),
  passMs: fc.integer({ min: 0, max: 1_500 }),
});

type Happening = { readonly kind: string; readonly node?: number } & Omit<Fault, "lose"> & {
    readonly lose?: Fault["lose"] | undefined;
  };

/** A candidate over a network of its own. */
function strikable(it: World) {
  const network = it.inner.map((node) => new FaultyNode(node, it.clock));
  const one = candidate(it, new Redlock(network, { clock: it.clock, nodeTimeoutMs: 50 }), { ttlMs });
  const undergo = ({ kind, node, lose, ...delays }: Happening): void => {
    const fault: Fault = { ...delays, ...(lose && { lose }) };
    if (kind === "resign") one.current?.resign().catch(() => {});
    if (kind === "resign election") one.election.resign().catch(() => {});
    if (kind === "extend") one.current?.extend().catch(() => {});
    if (kind === "end body") one.endBody();
    if (kind === "stop") one.stop();
    const struck = node === undefined ? network : [network[node] as FaultyNode];
    for (const each of struck) {
      if (kind === "fault") each.fault = () => fault;
      if (kind === "cut off") each.fault = () => ({ lose: "request" });
      if (kind === "heal") each.fault = () => undefined;
    }
  };
  return Object.assign(one, { undergo });
}

describe("any faults, resignations and ends", { timeout: 60_000 }, () => {
  it("campaign() never lets two terms overlap, or have one number, and somebody leads at the end", async () => {
    const runs = isNightly ? 100 : 20;
    let terms = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(anyEvent, { minLength: 5, maxLength: 25 }), async (events) => {
        const all = world(nodeCount);
        const candidates = Array.from({ length: candidateCount + 1 }, () => strikable(all)); // nothing strikes the last
        for (const { candidate, what, passMs } of events) {
          candidates[candidate]?.undergo(what);
          await all.clock.advance(passMs);
        }
        for (const one of candidates) one.undergo({ kind: "heal" });
        await all.clock.advance(2 * ttlMs + 1_000);
        expectInOrder(...candidates);
        const led = candidates.flatMap((one) => one.terms);
        expect(led.filter(({ endedMs }) => endedMs === Infinity)).toHaveLength(1);
        terms += led.length;
        for (const one of candidates) one.undergo({ kind: "stop" });
        await all.clock.until(Promise.all(candidates.map(({ ended }) => ended)));
        expect(await all.heldOn("jobs")).toEqual([]);
      }),
      { numRuns: runs },
    );
    expect(terms).toBeGreaterThan(1.5 * runs);
  });
});
