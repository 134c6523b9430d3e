import { existsSync } from "node:fs";
import { stat, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { mountSmallDisk } from "../src/index.ts";
import { startPostgresServer } from "../src/postgres-server.ts";

test("startPostgresServer() returns a server of which pause() delays the reply to a statement until resume()", async () => {
  const server = await startPostgresServer();
  onTestFinished(() => server.stop());
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

test("mountSmallDisk() returns a disk that fill() fills until clear(), and that unmount() removes", async () => {
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
