/** The commands for databases, which PostgreSQL, MySQL and MariaDB share. */
import { createTable as createMysqlTable } from "@holdfast/mysql";
import { createTable } from "@holdfast/postgres";
import { afterAll, describe, expect, test } from "vitest";
import { mysqlUserOf, queryMysql, sharedMysql, stopSharedMysql } from "./doctor/mysql-lab.ts";
import { query, sharedDatabase, stopSharedDatabase, userOf } from "./doctor/postgres-lab.ts";
import { runCli } from "./support/program.ts";

afterAll(stopSharedDatabase);
afterAll(stopSharedMysql);
const postgres = await sharedDatabase();
const mysql = await sharedMysql();
const postgresUrl = postgres.connectionString;
const resource = "CONVERT(TRIM(LEADING X'09' FROM name) USING utf8mb4)"; // which has a row, and one for its guard

describe.each([
  {
    kind: "PostgreSQL",
    url: postgresUrl,
    name: `127.0.0.1:${postgres.port}/postgres`,
    run: (statement: string) => query(postgresUrl, statement),
    table: '"public"."fresh"',
    elsewhere: "postgres://127.0.0.1:1/app?schema=jobs&table=locks",
    printed: createTable({ schema: "jobs", table: "locks" }),
    reader: () => userOf(postgres, "SELECT"),
    denied: "permission denied for schema public",
    examined: /^127\.0\.0\.1:\S+ +PostgreSQL [\d.]+ .* always$/m,
    rows: "SELECT name FROM holdfast_locks",
  },
  {
    kind: "MariaDB",
    url: mysql.uri.replace("mysql:", "mariadb:"),
    name: `127.0.0.1:${mysql.port}/holdfast`,
    run: (statement: string) => queryMysql(mysql.uri, statement),
    table: "`holdfast`.`fresh`",
    elsewhere: "mysql://127.0.0.1:1/app?table=locks",
    printed: createMysqlTable({ table: "locks" }),
    reader: () => mysqlUserOf(mysql, "SELECT"),
    denied: "CREATE command denied",
    examined: /^127\.0\.0\.1:\S+ +(MariaDB|MySQL) [\d.]+ .* always$/m,
    rows: `SELECT DISTINCT ${resource} AS name FROM holdfast_locks WHERE name <> ''`,
  },
])("$kind", ({ url, name, run, table, elsewhere, printed, reader, denied, examined, rows }) => {
  test("create-table creates the table once, and reports one with other columns", async () => {
    const node = ["--node", `${url}?table=fresh`];
    for (const command of ["run", "lead"]) {
      const missing = await runCli([command, "x", ...node, "--", "true"]);
      expect(missing).toMatchObject({ code: 78, err: expect.stringContaining("does not exist") });
    }
    const created = { code: 0, out: `${name}/fresh: created the table\n`, err: "" };
    expect(await runCli(["create-table", ...node])).toEqual(created);
    expect(await runCli(["create-table", ...node])).toEqual({ ...created, out: `${name}/fresh: the table exists\n` });
    expect(await runCli(["run", "x", ...node, "--", "true"])).toMatchObject({ code: 0, err: "" });
    await run("ALTER TABLE fresh DROP COLUMN fence");
    const why = `${table} exists, but lacks columns: fence`;
    expect(await runCli(["create-table", ...node])).toMatchObject({ code: 78, err: expect.stringContaining(why) });
  });

  test("create-table --print prints the statement without a connection", async () => {
    const outcome = await runCli(["create-table", "--print", "--node", elsewhere, "--node", "redis://127.0.0.1:1"]);
    expect(outcome).toEqual({ code: 0, out: `${printed};\n`, err: "" });
  });

  test("create-table says why it cannot create a table", async () => {
    const refused = await runCli(["create-table", "--node", `${await reader()}?table=denied`]);
    expect(refused).toMatchObject({ code: 78, err: expect.stringContaining(denied) });
    const unreachable = await runCli(["create-table", "--node", elsewhere]);
    expect(unreachable).toMatchObject({ code: 69, err: expect.stringContaining("ECONNREFUSED") });
  });

  test("doctor: examines a database, and leaves the rows of one name", async () => {
    const { code, out, err } = await runCli(["doctor", "--node-timeout", "5s", "--ttl", "10m", "--node", url]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(examined);
    expect(out).toContain("yes fenced and durable");
    expect(await run(rows)).toEqual([{ name: "holdfast-doctor" }]);
  });
});

test("list: searches page by page, and stops at the limit", async () => {
  await query(
    postgresUrl,
    `${createTable({ table: "many" })};
    INSERT INTO many (name, owner, until, fence)
    SELECT 'r' || n, 'alice:' || repeat('a', 32), now() + interval '1 h', n FROM generate_series(1, 2500) AS n`,
  );
  const node = ["--node", `${postgresUrl}?table=many`];
  const whole = await runCli(["list", "--limit", "2500", ...node]);
  expect({ lines: whole.out.trim().split("\n").length, err: whole.err }).toEqual({ lines: 2_501, err: "" });
  const cut = await runCli(["list", "--limit", "10", ...node]);
  expect(cut.err).toContain("only 10 locks are listed, and there are more");
  expect((await runCli(["list", "r24?9", "--json", ...node])).out).toContain('"resource":"r2499"');
});
