/** The commands for databases, which PostgreSQL, MySQL and MariaDB share. */
import { createTable as createMysqlTable } from "@holdfast/mysql";
import { createTable } from "@holdfast/postgres";
import { afterAll, describe, expect, test } from "vitest";
import { queryMysql, sharedMysql, stopSharedMysql } from "./doctor/mysql-lab.ts";
import { query, sharedDatabase, stopSharedDatabase } from "./doctor/postgres-lab.ts";
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
    run: (statement: string) => query(postgresUrl, statement),
    elsewhere: "postgres://127.0.0.1:1/app?schema=jobs&table=locks",
    printed: createTable({ schema: "jobs", table: "locks" }),
    examined: /^127\.0\.0\.1:\S+ +PostgreSQL [\d.]+ .* always$/m,
    rows: "SELECT name FROM holdfast_locks",
  },
  {
    kind: "MariaDB",
    url: mysql.uri.replace("mysql:", "mariadb:"),
    run: (statement: string) => queryMysql(mysql.uri, statement),
    elsewhere: "mysql://127.0.0.1:1/app?table=locks",
    printed: createMysqlTable({ table: "locks" }),
    examined: /^127\.0\.0\.1:\S+ +(MariaDB|MySQL) [\d.]+ .* always$/m,
    rows: `SELECT DISTINCT ${resource} AS name FROM holdfast_locks WHERE name <> ''`,
  },
])("$kind", ({ url, run, elsewhere, printed, examined, rows }) => {
  test.each(["run", "lead"])("%s: says that the table is missing", async (command) => {
    const missing = await runCli([command, "x", "--node", `${url}?table=fresh`, "--", "true"]);
    expect(missing).toMatchObject({ code: 78, err: expect.stringContaining("does not exist") });
  });

  test("create-table prints the statement without a connection", async () => {
    const outcome = await runCli(["create-table", "--node", elsewhere, "--node", "redis://127.0.0.1:1"]);
    expect(outcome).toEqual({ code: 0, out: `${printed};\n`, err: "" });
  });

  test("doctor: examines a database, and leaves the rows of one name", async () => {
    const { code, out, err } = await runCli(["doctor", "--node-timeout", "5s", "--ttl", "10m", "--node", url]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(examined);
    expect(out).toContain("yes fenced and durable");
    expect(await run(rows)).toEqual([{ name: "holdfast-doctor" }]);
  });
});
