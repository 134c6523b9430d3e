import { mountSmallDisk } from "@holdfast/testkit";
import type { Pool } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { openClient, startServer } from "./client.ts";
import { startStorm } from "./storm.ts";

/** Starts a server on a disk of its own, which keeps few segments of the log in reserve. */
async function startOnSmallDisk() {
  const disk = await mountSmallDisk(150);
  onTestFinished(() => disk.unmount());
  const server = await startServer({ folder: disk.path, settings: { min_wal_size: "2MB", max_wal_size: "4MB" } });
  return { disk, server };
}

test("postgresNode() names the full disk in its error, still denies, and recovers with space", async ({ annotate }) => {
  const { disk, server } = await startOnSmallDisk();
  const { redlock, node } = openClient(server.connectionString);
  const held = await redlock.acquire("held");
  const other = await redlock.acquire("other");
  await disk.fill();

  let error: unknown;
  let granted = 0;
  for (; error === undefined && granted < 2_000; granted++) {
    // New rows need new pages at some time.
    await redlock.acquire(`resource ${granted} ${"with a long name ".repeat(50)}`).catch((reason) => {
      error = reason;
    });
  }
  expect(error).toMatchObject({ code: "QUORUM_UNREACHABLE" });
  expect(String(error)).toContain("No space left on device");
  expect(await redlock.tryAcquire("held")).toBeNull();
  // A release needs room for the new version of the row, which the page of the row may have.
  const releaseError = await other.release().catch(String);
  expect(releaseError ?? "No space left on device").toContain("No space left on device");
  await annotate(
    `full disk: ${granted - 1} new locks, then "${String(error).replace(/.*postgres failed: /, "")}"; ` +
      `denials work, and releases ${releaseError === undefined ? "work" : "fail"}`,
  );

  await disk.clear();
  await held.extend();
  await other.release();
  expect(await node.inspect("other")).toMatchObject({ owner: null });
  await redlock.acquire(`recovered ${"with a long name ".repeat(50)}`);
});

test("postgresNode() keeps claims, counters and exclusion when the log of its server finds no space", async ({
  annotate,
}) => {
  const { disk, server } = await startOnSmallDisk();
  const { pool, redlock, node } = openClient(server.connectionString);
  const lock = await redlock.acquire("held");
  const storm = startStorm(server);
  await storm.grants(80);
  await disk.fill();
  await exhaustLog(pool);
  await expect.poll(() => server.log()).toMatch(/PANIC: .* No space left on device/);
  const fences = new Map(storm.fences);
  await disk.clear();
  await server.restart();
  expect(await redlock.tryAcquire("held")).toBeNull();
  await lock.extend();
  for (const [resource, fence] of fences) {
    expect((await node.inspect(resource)).fence).toBeGreaterThanOrEqual(fence);
  }
  await storm.grants(80);
  await storm.expectExclusion(annotate, "the log finds no space, the server ends and is restarted");
});

/** Uses up the segments that the server has in reserve. */
async function exhaustLog(pool: Pool): Promise<void> {
  for (let segments = 0; segments < 1_000; segments++) {
    try {
      // Without a record since the last switch, a switch does nothing.
      await pool.query("SELECT pg_logical_emit_message(false, 'fill', 'x'), pg_switch_wal()");
    } catch {
      return;
    }
  }
  throw new Error("the log never ran out of space");
}
