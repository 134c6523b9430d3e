import { createGuard, createTable, removeGuard } from "@holdfast/mysql";
import { afterAll, expect, test } from "vitest";
import { mysqlUserOf, queryMysql, runMysqlClient, sharedMysql, stopSharedMysql } from "./doctor/mysql-lab.ts";
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

test("guard --dialect mysql prints the migration of createGuard() for the client of the database", async () => {
  const tables = [{ table: "invoices", expression: "CONCAT('invoice:', {row}.id, '$$')" }];
  const args = ["--dialect", "mysql", "--table", "invoices", "--expression", tables[0]?.expression as string];
  const { code, out } = await runCli(["guard", ...args, "--mode", "warn"]);
  const statements = createGuard({ tables, mode: "warn" }).map((statement) => `${statement}\n$$$\n`);
  expect({ code, out }).toEqual({
    code: 0,
    out: `SET NAMES utf8mb4;\nDELIMITER $$$\n${statements.join("")}DELIMITER ;\n`,
  });

  const named = ["--dialect", "mysql", "--table", "app.invoices"];
  const removal = removeGuard({ tables: [{ database: "app", table: "invoices" }] }).map((each) => `${each}\n$$\n`);
  expect((await runCli(["guard", "--remove", ...named])).out).toBe(
    `SET NAMES utf8mb4;\nDELIMITER $$\n${removal.join("")}DELIMITER ;\n`,
  );
  const guarded = createGuard({ tables: [{ database: "app", table: "invoices", name: "a" }], database: "locks" });
  const { out: elsewhere } = await runCli(["guard", ...named, "--name", "a", "--schema", "locks"]);
  expect(elsewhere).toBe(
    `SET NAMES utf8mb4;\nDELIMITER $$\n${guarded.map((each) => `${each}\n$$\n`).join("")}DELIMITER ;\n`,
  );
  expect(await runCli(["guard", ...named, "--name", "a"])).toMatchObject({
    code: 64,
    err: expect.stringContaining("name the database of the table of tokens with --schema"),
  });
});

test("guard --check lists the tables of MySQL, and exits with 1 unless all of them refuse", async () => {
  const check = async (...more: string[]) => {
    const { code, out, err } = await runCli(["guard", "--check", "--node", uri, ...more]);
    return { code, lines: out.replaceAll(/ +/g, " ").trimEnd().split("\n"), err };
  };
  const guard = async (...args: string[]) => {
    await runMysqlClient(server, (await runCli(["guard", "--dialect", "mysql", ...args])).out);
  };
  expect(await check()).toEqual({ code: 1, lines: ["no table is guarded"], err: "" });
  await queryMysql(
    uri,
    "CREATE TABLE invoices (id INT PRIMARY KEY)",
    "CREATE TABLE `odd``parts` (`lock name` VARCHAR(100))",
    "CREATE TABLE old (id INT) ENGINE = MyISAM",
  );
  await guard("--table", "invoices", "--expression", "CONCAT('invoice;', {row}.id)");
  await guard("--table", "odd`parts", "--column", "lock name", "--mode", "warn");
  await guard("--table", "old", "--name", "prüfer 🔒");
  expect(await check()).toEqual({
    code: 1,
    lines: [
      "table mode lock of a row",
      "holdfast.invoices refuse expression CONCAT('invoice;', NEW.id)",
      "holdfast.odd`parts warn column lock name",
      "holdfast.old incomplete name prüfer 🔒",
    ],
    err: "",
  });
  expect((await check("--table", "invoices")).code).toBe(0);
  expect((await check("--table", "holdfast.invoices", "--table", "none")).lines[2]).toBe("holdfast.none none");

  const otherRule = createGuard({ tables: [{ table: "invoices", name: "other" }] });
  const brokenOff = otherRule.slice(
    0,
    otherRule.findIndex((statement) => statement.includes("invoices_update")),
  );
  await queryMysql(uri, ...brokenOff);
  expect((await check("--table", "invoices")).lines[1]).toBe("holdfast.invoices incomplete name other");
  await queryMysql(uri, ...otherRule);
  expect(await check("--table", "invoices")).toMatchObject({ code: 0 });

  await queryMysql(uri, "DROP TRIGGER holdfast_guard_invoices_delete");
  expect(await check("--table", "invoices")).toMatchObject({
    code: 1,
    lines: [expect.anything(), expect.stringContaining("incomplete")],
  });
  await guard("--remove", "--table", "invoices", "--table", "odd`parts", "--table", "old");
  expect((await check()).lines).toEqual(["no table is guarded"]);
});
