import { describe, expect, it } from "vitest";
import { createCleanup } from "../src/cleanup.ts";

describe("createCleanup()", () => {
  it("run() undoes the latest first, whatever fails", async () => {
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

  it("defer() undoes at once what comes after the end", async () => {
    const cleanup = createCleanup();
    await cleanup.run();
    await new Promise<void>((resolve) => cleanup.defer(resolve));
  });
});
