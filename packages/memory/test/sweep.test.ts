import { expect, it } from "vitest";
import { createSweep } from "../src/sweep.ts";

it("createSweep() keeps a growing map small, and keeps entries that have not ended", () => {
  let now = 0;
  const map = new Map<string, number>([["kept", Number.POSITIVE_INFINITY]]);
  const sweep = createSweep(map, (endsAt) => now >= endsAt);
  let largest = 0;
  for (now = 0; now < 10_000; now++) {
    map.set(`entry ${now}`, now + 10);
    sweep();
    largest = Math.max(largest, map.size);
  }
  expect(map.has("kept")).toBe(true);
  expect(largest).toBeLessThan(40);
});
