import { type MemoryNode, memoryNode } from "@holdfast/memory";
import { VirtualClock } from "@holdfast/testkit";
import type { LockNodeSubject } from "../src/index.ts";

/** A memory node on a clock of its own, and that clock's handle. */
export function nodeOnVirtualClock(): { node: MemoryNode; time: Pick<LockNodeSubject, "advance" | "nowMs"> } {
  const clock = new VirtualClock();
  return { node: memoryNode({ clock }), time: { advance: (ms) => clock.advance(ms), nowMs: clock.wallMs } };
}

/** For `close` where there is nothing to close. */
export async function nothing(): Promise<void> {}
