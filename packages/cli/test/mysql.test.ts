import { createTable } from "@holdfast/mysql";
import { afterAll, expect, test } from "vitest";
import { mysqlUserOf, queryMysql, sharedMysql, stopSharedMysql } from "./doctor/mysql-lab.ts";
import { runCli } from "./support/program.ts";

afterAll(stopSharedMysql);
const server = await sharedMysql();
const { uri, port } = server;
const name = `127.0.0.1:${port}/holdfast`;

test("create-table creates the table once, and reports one with other columns", async () => {
  const node = `${uri.replace("mysql:", "mariadb:")}?table=fresh`;
  const missing = await runCli(["run", "x", "--node", node, "--", "true"]);
  expect(missing).toMatchObject({ code: 78, err: expect.stringContaining("does not exist") });
  const created = { code: 0, out: `${name}/fresh: created the table\n`, err: "" };
  const exists = { ...created, out: `${name}/fresh: the table exists\n` };
  expect(await runCli(["create-table", "--node", node])).toEqual(created);
  expect(await runCli(["create-table", "--node", node])).toEqual(exists);
  expect(await runCli(["run", "x", "--node", node, "--", "true"])).toMatchObject({ code: 0, err: "" });

  await queryMysql(uri, "ALTER TABLE fresh DROP COLUMN epoch");
  expect(await runCli(["create-table", "--node", node])).toMatchObject({
    code: 78,
    err: expect.stringContaining("`holdfast`.`fresh` exists, but lacks columns: epoch"),
  });
});

test("create-table --print prints the statement without a connection", async () => {
  const printed = await runCli(["create-table", "--print", "--node", "mysql://127.0.0.1:1/app?table=locks"]);
  expect(printed).toEqual({ code: 0, out: `${createTable({ table: "locks" })};\n`, err: "" });
});

test("create-table says why it cannot create a table", async () => {
  const user = await mysqlUserOf(server, "SELECT");
  expect(await runCli(["create-table", "--node", `${user}?table=other`])).toMatchObject({
    code: 78,
    err: expect.stringContaining("CREATE command denied"),
  });
  expect(await runCli(["create-table", "--node", "mysql://127.0.0.1:1/x"])).toMatchObject({
    code: 69,
    err: expect.stringContaining("ECONNREFUSED"),
  });
});

test("doctor: examines a database, and leaves the rows of one name", async () => {
  const timeouts = ["--node-timeout", "5s", "--ttl", "10m"];
  const { code, out, err } = await runCli(["doctor", ...timeouts, "--node", uri]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toMatch(/^127\.0\.0\.1:\S+ +(MariaDB|MySQL) [\d.]+ .* always$/m);
  expect(out).toContain("yes fenced and durable");
  const plain = "CONVERT(TRIM(LEADING X'09' FROM name) USING utf8mb4)"; // a resource, or its guard
  const rows = await queryMysql(uri, `SELECT DISTINCT ${plain} AS name FROM holdfast_locks WHERE name <> ''`);
  expect(rows).toEqual([{ name: "holdfast-doctor" }]);
});
