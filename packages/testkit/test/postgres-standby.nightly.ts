import { describe, expect, onTestFinished, test } from "vitest";
import { firstValue } from "../src/first-value.ts";
import { type PostgresServer, type PostgresServerOptions, startPostgresServer } from "../src/postgres-server.ts";
import { startPostgresStandby } from "../src/postgres-standby.ts";

async function start(options?: PostgresServerOptions): Promise<PostgresServer> {
  const server = await startPostgresServer(options);
  onTestFinished(() => server.stop());
  return server;
}

describe("startPostgresStandby()", () => {
  test("starts a synchronous standby that has what the primary has committed, and promote() makes it writable", async () => {
    const primary = await start({ fsync: true });
    const standby = await startPostgresStandby(primary, { synchronous: true });
    onTestFinished(() => standby.stop());
    await firstValue(primary.connectionString, "CREATE TABLE numbers (n int)");
    await firstValue(primary.connectionString, "INSERT INTO numbers VALUES (1)");
    await primary.kill();
    // The standby has the table, but may not show it yet.
    await expect(firstValue(standby.connectionString, "CREATE TABLE others (n int)")).rejects.toThrow("read-only");
    await standby.promote();
    await firstValue(standby.connectionString, "INSERT INTO numbers VALUES (2)");
    expect(await firstValue(standby.connectionString, "SELECT sum(n)::text FROM numbers")).toBe("3");
  });

  test("disconnect() ends replication, so that a promoted standby lacks later commits", async () => {
    const primary = await start();
    const standby = await startPostgresStandby(primary, { synchronous: false });
    onTestFinished(() => standby.stop());
    await firstValue(primary.connectionString, "CREATE TABLE numbers (n int)");
    await expect
      .poll(() => firstValue(standby.connectionString, "SELECT to_regclass('numbers')::text"))
      .toBe("numbers");
    await standby.disconnect();
    await firstValue(primary.connectionString, "INSERT INTO numbers VALUES (1)");
    await primary.kill();
    await standby.promote();
    expect(await firstValue(standby.connectionString, "SELECT count(*)::text FROM numbers")).toBe("0");
  });
});
