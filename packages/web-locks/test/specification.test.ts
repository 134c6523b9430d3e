import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { createLockManager } from "@holdfast/web-locks";
import { describe, it } from "vitest";
import { clauses } from "./clauses.ts";

describe.each([1, 3])("the Web Locks API over %i nodes", (count) => {
  const nodes = Array.from({ length: count }, () => memoryNode());
  const locks = createLockManager(new Redlock(nodes));
  it.each(clauses)("$fact", ({ fact, trial }) => trial(locks, fact));
});
