import { describe, expect, it } from "vitest";
import { createCleanup } from "../src/cleanup.ts";

describe("createCleanup()", () => {
  it("run() runs the latest action first, and all of them even if some fail", async () => {
    const cleanup = createCleanup();
    const undone: number[] = [];
    cleanup.defer(() => void undone.push(1));
    cleanup.defer(async () => {
      throw new Error("out of order");
    });
    cleanup.defer(() => {
      throw new Error("out of order");
    });
    cleanup.defer(async () => void undone.push(2));
    await cleanup.run();
    expect(undone).toEqual([2, 1]);
  });

  it("defer() runs an action immediately after run()", async () => {
    const cleanup = createCleanup();
    await cleanup.run();
    await new Promise<void>((resolve) => cleanup.defer(resolve));
  });
});
