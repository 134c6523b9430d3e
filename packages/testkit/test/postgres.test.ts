import { existsSync } from "node:fs";
import { stat, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { firstValue } from "../src/first-value.ts";
import { mountSmallDisk } from "../src/index.ts";
import { startPgBouncer } from "../src/pgbouncer.ts";
import { type PostgresServer, type PostgresServerOptions, startPostgresServer } from "../src/postgres-server.ts";

async function start(options?: PostgresServerOptions): Promise<PostgresServer> {
  const server = await startPostgresServer(options);
  onTestFinished(() => server.stop());
  return server;
}

describe("startPostgresServer()", () => {
  test("starts a server with the given settings", async () => {
    const { connectionString } = await start({ fsync: true, settings: { max_connections: 17 } });
    expect(await firstValue(connectionString, "SHOW fsync")).toBe("on");
    expect(await firstValue(connectionString, "SHOW max_connections")).toBe("17");
  });

  test("kill() ends all its processes at once, and restart() recovers what was committed", async () => {
    const server = await start({ fsync: true });
    const { connectionString, port } = server;
    await firstValue(connectionString, "CREATE TABLE numbers (n int)");
    const client = new pg.Client({ connectionString });
    const lost = new Promise((resolve) => client.on("error", resolve));
    await client.connect();
    await client.query("INSERT INTO numbers VALUES (1)");
    await client.query("BEGIN; INSERT INTO numbers VALUES (2)");
    await server.kill();
    await lost;
    await expect(firstValue(connectionString, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
    await server.restart();
    expect(server.port).toBe(port);
    expect(await firstValue(connectionString, "SELECT string_agg(n::text, ',') FROM numbers")).toBe("1");
    expect(await server.log()).toContain("automatic recovery in progress");
  });

  test("pause() delays the reply to a statement until resume()", async () => {
    const server = await start();
    const client = new pg.Client(server.connectionString);
    await client.connect();
    await server.pause();
    let isAnswered = false;
    const reply = client.query("SELECT 1").then(() => {
      isAnswered = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(isAnswered).toBe(false);
    await server.resume();
    await reply;
    await client.end();
  });
});

describe("startPgBouncer()", () => {
  test("gives the server's connections to other clients between transactions, with poolMode transaction", async () => {
    const server = await start();
    const bouncer = await startPgBouncer(server, { poolMode: "transaction", poolSize: 1 });
    onTestFinished(() => bouncer.stop());
    const clients = [new pg.Client(bouncer.connectionString), new pg.Client(bouncer.connectionString)];
    const pids: unknown[] = [];
    for (const client of clients) {
      await client.connect();
      pids.push((await client.query("SELECT pg_backend_pid() AS pid")).rows[0].pid);
    }
    expect(pids[0]).toBe(pids[1]);
    await Promise.all(clients.map((client) => client.end()));
  });
});

describe("mountSmallDisk()", () => {
  test("returns a disk that fill() fills until clear(), and that unmount() removes", async () => {
    const disk = await mountSmallDisk(3);
    const file = join(disk.path, "file");
    await disk.fill();
    expect((await statfs(disk.path)).bavail).toBe(0);
    await expect(writeFile(file, "text")).rejects.toThrow("ENOSPC");
    await disk.clear();
    await writeFile(file, "text");
    expect((await stat(file)).size).toBe(4);
    await disk.unmount();
    expect(existsSync(file)).toBe(false);
  });
});
