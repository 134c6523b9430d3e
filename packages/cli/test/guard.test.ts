import { createGuard, removeGuard } from "@holdfast/postgres";
import { afterAll, expect, test } from "vitest";
import { query, sharedDatabase, stopSharedDatabase } from "./doctor/postgres-lab.ts";
import { runCli } from "./support/program.ts";

afterAll(stopSharedDatabase);
const { connectionString: url } = await sharedDatabase();
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

test.each([
  [["--column", "lock"], "name the tables to guard with --table"],
  [["--table", "a"], "name the lock of each row with one of --column, --name and --expression"],
  [["--table", "a", "--column", "b", "--name", "c"], "with one of --column, --name and --expression"],
  [["--table", "a.b.c", "--name", "c"], '--table must be a name or schema.name, not "a.b.c"'],
  [["--table", "", "--name", "c"], "table must have 1 to 63 bytes"],
  [["--table", "a", "--name", "c", "--mode", "log"], "Choices"],
  [["--table", "a", "--name", "c", "--check"], "mutually exclusive"],
  [["--table", "a", "--name", "c", "--json"], "json -> check"],
  [["--table", "a", "--name", "b", "--name", "c"], "--name was given 2 times"],
  [["--check", "--node", "redis://127.0.0.1:1"], "name one database with --node postgres://"],
  [["--check", "--node", url, "--node", `${url}?table=other`], "name one database with --node postgres://"],
])("guard refuses %s", async (args, message) => {
  expect(await runCli(["guard", ...args])).toMatchObject({ code: 64, err: expect.stringContaining(message) });
});

test("guard --check says why it cannot list the tables", async () => {
  const { code, err } = await runCli(["guard", "--check", "--node", "postgres://127.0.0.1:1/x"]);
  expect({ code, err }).toEqual({ code: 69, err: expect.stringContaining("ECONNREFUSED") });
});
