import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { VirtualClock } from "@holdfast/testkit";
import { createLockManager } from "@holdfast/web-locks";
import { describe, expect, it } from "vitest";
import { clauses } from "./clauses.ts";

const kept = clauses.filter(({ notKept }) => notKept === undefined);
const notKept = clauses.filter((clause) => !kept.includes(clause));

describe.each([1, 3])("the Web Locks API over %i nodes", (count) => {
  const clock = new VirtualClock();
  const nodes = Array.from({ length: count }, () => memoryNode({ clock }));
  const locks = createLockManager(new Redlock(nodes, { clock }));

  it.each(kept)("$fact", ({ fact, trial }) => clock.until(trial(locks, fact)));

  it.each(notKept)("$fact: not kept, $notKept", async ({ fact, trial }) => {
    await expect(clock.until(trial(locks, fact))).rejects.toThrow(TypeError);
  });
});
