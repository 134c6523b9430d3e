import { expect, test } from "vitest";
import { openClient, startServer } from "./client.ts";
import { startStorm } from "./storm.ts";

test("postgresNode() keeps exclusion without a deadlock under 24 workers on overlapping sets", async ({ annotate }) => {
  const server = await startServer();
  const storm = startStorm(server.connectionString);
  await storm.grants(300);
  const figures = await storm.end();
  await annotate(`24 workers on overlapping sets: ${JSON.stringify(figures)}`);
  expect(figures).toMatchObject({ overlaps: [], fenceFaults: [] });
  expect(await server.log()).not.toContain("deadlock detected");
  // Whatever holders did not release ends with its ttl.
  const { pool } = openClient(server.connectionString);
  const held = "SELECT name FROM holdfast_locks WHERE owner IS NOT NULL AND until > clock_timestamp()";
  await expect.poll(async () => (await pool.query(held)).rows).toEqual([]);
});

test("startStorm() notices claims and counters that a server forgets", async () => {
  const server = await startServer();
  const { pool } = openClient(server.connectionString);
  const storm = startStorm(server.connectionString);
  for (let times = 0; times < 12; times++) {
    await storm.grants(15);
    await pool.query("TRUNCATE holdfast_locks");
  }
  const { overlaps, fenceFaults } = await storm.end();
  expect(overlaps).not.toEqual([]);
  expect(fenceFaults).not.toEqual([]);
});
