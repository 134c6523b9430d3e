import { createGuard as createMysqlGuard, removeGuard as removeMysqlGuard } from "@holdfast/mysql";
import { createGuard, removeGuard } from "@holdfast/postgres";
import { afterAll, expect, test } from "vitest";
import { queryMysql, runMysqlClient, sharedMysql, stopSharedMysql } from "./doctor/mysql-lab.ts";
import { query, sharedDatabase, stopSharedDatabase, userOf } from "./doctor/postgres-lab.ts";
import { runCli } from "./support/program.ts";

afterAll(stopSharedDatabase);
afterAll(stopSharedMysql);
const server = await sharedDatabase();
const url = server.connectionString;
const invoices = { table: "invoices", expression: "'invoice:' || id" };

test("guard prints the migration of createGuard() without a server", async () => {
  const named = ["--table", "invoices", "--expression", invoices.expression];
  expect(await runCli(["guard", ...named])).toEqual({
    code: 0,
    out: `${createGuard({ tables: [invoices] })};\n`,
    err: "",
  });
  const tables = [{ schema: "app", table: "a", name: "ledger" }];
  const more = ["--table", "app.a", "--name", "ledger", "--mode", "warn", "--schema", "app"];
  expect((await runCli(["guard", ...more])).out).toBe(`${createGuard({ tables, mode: "warn", schema: "app" })};\n`);
  const byColumn = [
    { table: "a", column: "lock" },
    { table: "b", column: "lock" },
  ];
  const two = await runCli(["guard", "--table", "a", "--table", "b", "--column", "lock"]);
  expect(two.out).toBe(`${createGuard({ tables: byColumn })};\n`);
});

test("guard --remove prints the migration of removeGuard()", async () => {
  const { out } = await runCli(["guard", "--remove", "--table", "invoices"]);
  expect(out).toBe(`${removeGuard({ tables: [invoices] })};\n`);
});

test("guard --check lists the tables, and exits with 1 unless all of them refuse", async () => {
  const check = (...more: string[]) => runCli(["guard", "--check", "--node", url, ...more]);
  expect(await check()).toEqual({ code: 1, out: "no table is guarded\n", err: "" });
  await query(
    url,
    `CREATE TABLE invoices (id int); CREATE SCHEMA app; CREATE TABLE app.parts (lock text) PARTITION BY LIST (lock);
    CREATE TABLE app.part PARTITION OF app.parts DEFAULT;
    ${createGuard({ tables: [invoices] })};
    ${createGuard({ tables: [{ schema: "app", table: "parts", column: "lock" }], mode: "warn" })}`,
  );
  const listed = await check();
  expect({ ...listed, out: listed.out.replaceAll(/ +/g, " ") }).toEqual({
    code: 1,
    out: "table mode lock of a row\napp.parts warn column lock\npublic.invoices refuse expression 'invoice:' || id\n",
    err: "",
  });
  expect(await check("--table", "invoices")).toMatchObject({ code: 0 });
  expect(await check("--table", "invoices", "--table", "app.part", "--json")).toEqual({
    code: 1,
    out: `${JSON.stringify({
      tables: [
        { schema: "public", table: "invoices", mode: "refuse", lock: "expression 'invoice:' || id" },
        { schema: "app", table: "part", mode: "none", lock: null },
      ],
    })}\n`,
    err: "",
  });
  await query(url, createGuard({ tables: [{ schema: "app", table: "parts", column: "lock" }] }));
  expect(await check()).toMatchObject({ code: 0 });
  for (const [name, trigger] of [
    ["app.part", "holdfast_guard"],
    ["invoices", "holdfast_guard_truncate"],
  ]) {
    await query(url, `ALTER TABLE ${name} DISABLE TRIGGER ${trigger}`);
    expect((await check()).out).toMatch(name === "invoices" ? /^public.invoices +disabled/m : /^app.parts +disabled/m);
    await query(url, `ALTER TABLE ${name} ENABLE TRIGGER ${trigger}`);
  }
});

test("guard --check says why it cannot list the tables", async () => {
  const check = (node: string) => runCli(["guard", "--check", "--node", node]);
  const unreachable = await check("postgres://127.0.0.1:1/x");
  expect(unreachable).toMatchObject({ code: 69, err: expect.stringContaining("ECONNREFUSED") });
  await query(url, "REVOKE SELECT ON pg_trigger FROM PUBLIC");
  const refused = await check(await userOf(server, "SELECT"));
  expect(refused).toMatchObject({ code: 78, err: expect.stringContaining("permission denied for table pg_trigger") });
});

test("guard --dialect mysql prints the migration of createGuard() for the client of the database", async () => {
  const tables = [{ table: "invoices", expression: "CONCAT('invoice:', {row}.id, '$$')" }];
  const args = ["--dialect", "mysql", "--table", "invoices", "--expression", tables[0]?.expression as string];
  const { code, out } = await runCli(["guard", ...args, "--mode", "warn"]);
  const delimited = (statements: readonly string[], delimiter: string) =>
    `SET NAMES utf8mb4;\nDELIMITER ${delimiter}\n${statements.map((each) => `${each}\n${delimiter}\n`).join("")}DELIMITER ;\n`;
  const guarding = delimited(createMysqlGuard({ tables, mode: "warn" }), "$$$");
  expect({ code, out }).toEqual({ code: 0, out: guarding });

  const named = ["--dialect", "mysql", "--table", "app.invoices"];
  const removal = delimited(removeMysqlGuard({ tables: [{ database: "app", table: "invoices" }] }), "$$");
  expect((await runCli(["guard", "--remove", ...named])).out).toBe(removal);
  const guarded = createMysqlGuard({ tables: [{ database: "app", table: "invoices", name: "a" }], database: "locks" });
  const { out: elsewhere } = await runCli(["guard", ...named, "--name", "a", "--schema", "locks"]);
  expect(elsewhere).toBe(delimited(guarded, "$$"));
  expect(await runCli(["guard", ...named, "--name", "a"])).toMatchObject({
    code: 64,
    err: expect.stringContaining("name the database of the table of tokens with --schema"),
  });
});

test("guard --check lists the tables of MySQL, and exits with 1 unless all of them refuse", async () => {
  const mysql = await sharedMysql();
  const { uri } = mysql;
  const check = async (...more: string[]) => {
    const { code, out, err } = await runCli(["guard", "--check", "--node", uri, ...more]);
    return { code, lines: out.replaceAll(/ +/g, " ").trimEnd().split("\n"), err };
  };
  const guard = async (...args: string[]) => {
    await runMysqlClient(mysql, (await runCli(["guard", "--dialect", "mysql", ...args])).out);
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

  const otherRule = createMysqlGuard({ tables: [{ table: "invoices", name: "other" }] });
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
