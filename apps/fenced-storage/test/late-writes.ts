import { readFile } from "node:fs/promises";
import { createCleanup } from "@holdfast/testkit/cleanup";
import { expect, onTestFinished, test } from "vitest";
import { playLateWrites } from "../src/play/late-writes.ts";
import { startLockServers } from "../src/play/locks.ts";
import { linesOf } from "../src/report.ts";
import { load, type StorageName, storages } from "../src/storages.ts";

const lostOfB = { balance: 70, isAccepted: true };
const lostOfA = { balance: 150, isAccepted: true };
const right = { balance: 120, isAccepted: false };

/** The README, which shows the output. */
export function readme(): Promise<string> {
  return readFile(new URL("../README.md", import.meta.url), "utf8");
}

/** Registers the test in which a holder is paused for longer than its ttl, and then writes. */
export function testLateWrites(storage: StorageName): void {
  test(`late writes to ${storages[storage]} lose an update unless the token is checked at reads and writes`, async () => {
    const cleanup = createCleanup();
    onTestFinished(cleanup.run);
    const urls = await startLockServers(cleanup);
    const { start } = await load[storage]();
    const outcomes = await playLateWrites(storage, await start(cleanup), urls, cleanup);
    expect(outcomes).toMatchObject([
      { checks: "nothing", arrival: "after B has written", ...lostOfB },
      { checks: "nothing", arrival: "between B's read and B's write", ...lostOfA },
      { checks: "writes", arrival: "after B has written", ...right },
      { checks: "writes", arrival: "between B's read and B's write", ...lostOfA },
      { checks: "reads and writes", arrival: "after B has written", ...right },
      { checks: "reads and writes", arrival: "between B's read and B's write", ...right },
    ]);
    expect(await readme()).toContain(linesOf(storages[storage], outcomes).join("\n"));
  });
}
