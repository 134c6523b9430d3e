import { expect, test } from "vitest";
import { openClient, startServer } from "./client.ts";
import { startStorm } from "./storm.ts";

test("startStorm() notices claims and counters that a server forgets", async () => {
  const server = await startServer();
  const { pool } = openClient(server.connectionString);
  const storm = startStorm(server.connectionString);
  for (let times = 0; times < 20; times++) {
    await storm.grants(20);
    await pool.query("DELETE FROM holdfast_locks");
  }
  const { overlaps, fenceFaults } = await storm.end();
  expect(overlaps).not.toEqual([]);
  expect(fenceFaults).not.toEqual([]);
});
