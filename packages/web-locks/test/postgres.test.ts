import { Redlock } from "@holdfast/core";
import { createTable, postgresNode } from "@holdfast/postgres";
import { startPostgresServer } from "@holdfast/testkit/postgres-server";
import { createLockManager } from "@holdfast/web-locks";
import pg from "pg";
import { afterAll, expect, it } from "vitest";

/** The statements that were sent, but for those that open a connection. */
const statements: string[] = [];

class RecordingClient extends pg.Client {
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of `query`
  override query(...args: any[]): any {
    statements.push(args[0].text ?? args[0]);
    return Reflect.apply(super.query, this, args);
  }
}

const server = await startPostgresServer();
const pool = new pg.Pool({ connectionString: server.connectionString, Client: RecordingClient });
pool.on("error", () => {});
await pool.query(createTable());
const redlock = new Redlock([postgresNode(pool)]);
afterAll(async () => {
  await redlock.close();
  await pool.end();
  await server.stop();
});

it("request() grants 50 shared locks of one turn by as many statements as one", async () => {
  const locks = createLockManager(redlock);
  const statementsFor = async (readers: number): Promise<number> => {
    const before = statements.length;
    let inside = 0;
    let allAreInside: (value?: unknown) => void = () => {};
    const together = new Promise((resolve) => {
      allAreInside = resolve;
    });
    const read = () => {
      inside += 1;
      if (inside === readers) allAreInside();
      return together;
    };
    await Promise.all(Array.from({ length: readers }, () => locks.request("r", { mode: "shared" }, read)));
    return statements.length - before;
  };
  await statementsFor(1); // creates the row
  const one = await statementsFor(1);
  expect(one).toBeGreaterThan(0);
  expect(await statementsFor(50)).toBe(one);
});
