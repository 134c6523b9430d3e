import { expect, onTestFinished, test } from "vitest";
import { deletionOf } from "../../src/statements.ts";
import { openClient, openPool, startServer } from "./client.ts";

test.each(["read committed", "repeatable read", "serializable"])(
  "deleteUnused() lowers no counter of a claim or watch that waits for it, where transactions are %s",
  async (level) => {
    const { connectionString } = await startServer();
    const settings = openPool(connectionString, 1);
    await settings.query(`ALTER DATABASE postgres SET default_transaction_isolation = '${level}'`);
    await settings.end();

    const { node, pool } = openClient(connectionString);
    const request = { ttlMs: 60_000, timeoutMs: 10_000, owner: "one" };
    for (const resource of ["claimed", "watched"]) {
      await node.acquire({ ...request, resources: [resource], fenceHint: 1_000 });
      await node.release({ ...request, resources: [resource] });
    }
    await pool.query("UPDATE holdfast_locks SET until = now() - interval '1 day'");
    const deletion = await pool.connect();
    await deletion.query("BEGIN ISOLATION LEVEL READ COMMITTED");
    await deletion.query(deletionOf("holdfast_locks", 1_000));
    const acquired = node.acquire({ ...request, resources: ["claimed"], owner: "two", fenceHint: 1 });
    const watched = node.watch?.(["watched"], () => {});
    const waiting = "SELECT count(*)::int AS count FROM pg_locks WHERE NOT granted AND locktype = 'relation'";
    const observer = openPool(connectionString, 1);
    onTestFinished(() => observer.end());
    await expect.poll(async () => (await observer.query(waiting)).rows[0].count).toBe(2);
    await deletion.query("COMMIT");
    deletion.release();

    expect(await acquired).toEqual({ granted: true, fence: 1_001 });
    await (await watched)?.();
    const after = await node.acquire({ ...request, resources: ["watched"], fenceHint: 1 });
    expect(after).toEqual({ granted: true, fence: 1_001 });
    await node.close();
  },
);

test("watch() and inspect() repeat a statement that PostgreSQL could not serialize", async () => {
  const { connectionString } = await startServer();
  const { node, pool } = openClient(connectionString);
  const refused: string[] = [];
  let isConflicting = false;
  pool.on("connect", (client) => {
    const query = client.query.bind(client) as (config: { readonly text: string }) => Promise<unknown>;
    const conflicting = (config: { readonly text: string }): Promise<unknown> => {
      if (!isConflicting || !config.text.includes("holdfast_locks")) return query(config);
      isConflicting = false;
      refused.push(config.text);
      return Promise.reject(Object.assign(new Error("could not serialize access"), { code: "40001" }));
    };
    Object.assign(client, { query: conflicting });
  });
  isConflicting = true;
  await (await node.watch?.(["watched"], () => {}))?.();
  isConflicting = true;
  expect(await node.inspect?.("watched")).toMatchObject({ owner: null });
  expect(refused).toHaveLength(2);
  await node.close();
});
