import { Redlock } from "@holdfast/core";
import { type Election, election, type Term } from "@holdfast/core/election";
import { type Fault, FaultyNode, fuzzSeed, isNightly } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { world } from "../world.ts";

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

interface Span {
  readonly fence: number;
  readonly beganMs: number;
  endedMs: number;
}

/** Leads again and again, over a network of its own. */
class Candidate {
  readonly network: readonly FaultyNode[];
  readonly spans: Span[] = [];
  readonly #election: Election;
  readonly #stop = new AbortController();
  #term: Term | undefined;
  #endBody: () => void = () => {};
  readonly ended: Promise<void>;

  constructor({ inner, clock }: ReturnType<typeof world>) {
    this.network = inner.map((node) => new FaultyNode(node, clock));
    this.#election = election(new Redlock(this.network, { clock, nodeTimeoutMs: 50, ttlMs }), "jobs");
    this.ended = this.#lead(clock);
  }

  async #lead(clock: ReturnType<typeof world>["clock"]): Promise<void> {
    for await (const term of this.#election.campaign({ signal: this.#stop.signal })) {
      expect(term.signal.aborted).toBe(false);
      const span = { fence: term.fence, beganMs: clock.monotonicMs(), endedMs: Infinity };
      this.spans.push(span);
      this.#term = term;
      term.signal.addEventListener("abort", () => {
        span.endedMs = clock.monotonicMs();
        this.#endBody();
      });
      await new Promise<void>((resolve) => {
        this.#endBody = resolve;
      });
    }
  }

  undergo({ kind, node, lose, ...delays }: Happening): void {
    const fault: Fault = { ...delays, ...(lose && { lose }) };
    if (kind === "resign") this.#term?.resign().catch(() => {});
    if (kind === "resign election") this.#election.resign().catch(() => {});
    if (kind === "extend") this.#term?.extend().catch(() => {});
    if (kind === "end body") this.#endBody();
    if (kind === "stop") this.#stop.abort();
    const struck = node === undefined ? this.network : [this.network[node] as FaultyNode];
    for (const one of struck) {
      if (kind === "fault") one.fault = () => fault;
      if (kind === "cut off") one.fault = () => ({ lose: "request" });
      if (kind === "heal") one.fault = () => undefined;
    }
  }
}

describe("any faults, resignations and ends", { timeout: 60_000 }, () => {
  it("campaign() never lets two terms overlap, or have one number, and somebody leads at the end", async () => {
    const runs = isNightly ? 100 : 20;
    let terms = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(anyEvent, { minLength: 5, maxLength: 25 }), async (events) => {
        const all = world(nodeCount);
        const candidates = Array.from({ length: candidateCount + 1 }, () => new Candidate(all)); // nothing strikes the last
        for (const { candidate, what, passMs } of events) {
          candidates[candidate]?.undergo(what);
          await all.clock.advance(passMs);
        }
        for (const one of candidates) one.undergo({ kind: "heal" });
        await all.clock.advance(2 * ttlMs + 1_000);
        const spans = candidates.flatMap((one) => one.spans).sort((a, b) => a.beganMs - b.beganMs);
        for (const [index, later] of spans.slice(1).entries()) {
          const earlier = spans[index] as Span;
          expect(later.beganMs).toBeGreaterThanOrEqual(earlier.endedMs);
          expect(later.fence).toBeGreaterThan(earlier.fence);
        }
        expect(spans.at(-1)?.endedMs).toBe(Infinity);
        terms += spans.length;
        for (const one of candidates) one.undergo({ kind: "stop" });
        await all.clock.until(Promise.all(candidates.map(({ ended }) => ended)));
        expect(await all.heldOn("jobs")).toEqual([]);
      }),
      { numRuns: runs },
    );
    expect(terms).toBeGreaterThan(1.5 * runs);
  });
});
