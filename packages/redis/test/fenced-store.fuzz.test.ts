import { fuzzSeed } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fencedStore, StaleFenceError } from "../src/index.ts";
import { fencedConnectionOver, startBench } from "./connection.ts";

fc.configureGlobal({ seed: fuzzSeed });

const { client } = await startBench();
const stores = [1, 2].map(() => fencedStore(fencedConnectionOver(client), { timeoutMs: 60_000 }));
let keys = 0;

interface Call {
  readonly action: "read" | "write" | "delete";
  readonly fence: number;
  readonly by: number;
}

/** Few tokens, so that older, newer and equal ones meet; some are the largest that a double represents exactly. */
const calls: fc.Arbitrary<Call[]> = fc.array(
  fc.record({
    action: fc.constantFrom("read" as const, "write" as const, "delete" as const),
    fence: fc.oneof(fc.integer({ min: 8, max: 11 }), fc.integer({ min: 2 ** 53 - 4, max: 2 ** 53 - 1 })),
    by: fc.nat(1),
  }),
  { maxLength: 12 },
);

/** The result of a call, or the newest token, if the call was refused because of it. */
type Outcome = { readonly found: unknown } | { readonly newestFence: number };

async function make({ action, fence, by }: Call, key: string, value: string): Promise<Outcome> {
  const store = stores[by] as (typeof stores)[number];
  try {
    if (action === "read") {
      const { value: bytes, fence: writtenBy } = await store.read(key, fence);
      return { found: [bytes?.toString() ?? null, writtenBy] };
    }
    return { found: await (action === "write" ? store.write(key, value, fence) : store.delete(key, fence)) };
  } catch (error) {
    if (error instanceof StaleFenceError) return { newestFence: error.newestFence };
    throw error;
  }
}

function newKey(): string {
  keys += 1;
  return `key ${keys}`;
}

describe("fencedStore() with any calls", { timeout: 60_000 }, () => {
  test("accepts a write unless a newer token was seen, and a read unless a newer one has written", async () => {
    await fc.assert(
      fc.asyncProperty(calls, async (list) => {
        const key = newKey();
        let newest = 0;
        let held: [value: string | null, by: number] = [null, 0];
        for (const [index, call] of list.entries()) {
          const outcome = await make(call, key, `value ${index}`);
          if (call.fence < (call.action === "read" ? held[1] : newest)) {
            expect(outcome).toEqual({ newestFence: newest });
            continue;
          }
          newest = Math.max(newest, call.fence);
          if (call.action === "read") expect(outcome).toEqual({ found: held });
          if (call.action === "delete") expect(outcome).toEqual({ found: held[0] !== null });
          if (call.action === "write") held = [`value ${index}`, call.fence];
          if (call.action === "delete") held = [null, call.fence];
        }
      }),
      { numRuns: 200 },
    );
  });

  test("prefers the largest token, however calls overlap", async () => {
    await fc.assert(
      fc.asyncProperty(calls, async (list) => {
        fc.pre(list.length > 0);
        const key = newKey();
        const outcomes = await Promise.all(list.map((call, index) => make(call, key, `value ${index}`)));
        const changes = list.filter(
          ({ action }, index) => action !== "read" && "found" in (outcomes[index] as Outcome),
        );
        const newest = Math.max(...list.map(({ fence }) => fence));
        const lastChange = Math.max(0, ...changes.map(({ fence }) => fence));
        const last = await make({ action: "read", fence: newest, by: 0 }, key, "");
        const [value, by] = (last as { found: [string | null, number] }).found;
        expect(by).toBe(lastChange);
        const writer = value === null ? undefined : list[Number(value.slice("value ".length))];
        if (writer) expect(writer.fence).toBe(lastChange);
        for (const [index, call] of list.entries()) {
          if (call.fence === newest) expect(outcomes[index]).toHaveProperty("found");
        }
      }),
      { numRuns: 200 },
    );
  });
});
