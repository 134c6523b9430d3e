import mysql from "mysql2/promise";
import { expect, onTestFinished, test } from "vitest";
import { startMysqlServer } from "../src/mysql-server.ts";

test("startMysqlServer() starts a server with the given settings, and restart() recovers what was committed", async () => {
  const server = await startMysqlServer({ settings: { innodb_lock_wait_timeout: 7 } });
  onTestFinished(() => server.stop());
  const open = async () => {
    const connection = await mysql.createConnection(server.uri);
    connection.on("error", () => {}); // the server is killed
    return connection;
  };
  const before = await open();
  expect((await before.query("SELECT @@innodb_lock_wait_timeout AS seconds"))[0]).toEqual([{ seconds: 7 }]);
  await before.query("CREATE TABLE numbers (n int)");
  await before.query("INSERT INTO numbers VALUES (1)");
  await server.kill();
  await expect(mysql.createConnection(server.uri)).rejects.toThrow("ECONNREFUSED");
  await server.restart();
  const after = await open();
  expect((await after.query("SELECT n FROM numbers"))[0]).toEqual([{ n: 1 }]);
  await after.end();
});
