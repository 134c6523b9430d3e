import { createTable } from "@holdfast/postgres";
import { afterAll, expect, test } from "vitest";
import { query, sharedDatabase, stopSharedDatabase, userOf } from "./doctor/postgres-lab.ts";
import { runCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

const redis = withServers(1);
afterAll(stopSharedDatabase);
const database = await sharedDatabase();
const url = database.connectionString;
const name = `127.0.0.1:${database.port}/postgres`;

test("lead: says that the table is missing", async () => {
  const missing = await runCli(["lead", "scheduler", "--node", `${url}?table=nowhere`, "--", "true"]);
  expect(missing).toMatchObject({ code: 78, out: "", err: expect.stringContaining("does not exist") });
});

test("list: searches page by page, and stops at the limit", async () => {
  await query(
    url,
    `${createTable({ table: "many" })};
    INSERT INTO many (name, owner, until, fence)
    SELECT 'r' || n, 'alice:' || repeat('a', 32), now() + interval '1 h', n FROM generate_series(1, 2500) AS n`,
  );
  const node = ["--node", `${url}?table=many`];
  const whole = await runCli(["list", "--limit", "2500", ...node]);
  expect({ lines: whole.out.trim().split("\n").length, err: whole.err }).toEqual({ lines: 2_501, err: "" });
  const cut = await runCli(["list", "--limit", "10", ...node]);
  expect(cut.err).toContain("only 10 locks are listed, and there are more");
  expect((await runCli(["list", "r24?9", "--json", ...node])).out).toContain('"resource":"r2499"');
});

test("run: does without a database that cannot be reached, if the others are a quorum", async () => {
  const nodes = ["--node", url, "--node", "postgres://127.0.0.1:1/x", "--node", redis.all[0]?.url ?? ""];
  expect(await runCli(["run", "mixed", ...nodes, "--", "true"])).toMatchObject({ code: 0 });
});

test("create-table creates the table once, and reports one with other columns", async () => {
  const node = `${url}?table=fresh`;
  const missing = await runCli(["run", "x", "--node", node, "--", "true"]);
  expect(missing).toMatchObject({ code: 78, err: expect.stringContaining("does not exist") });
  const created = { code: 0, out: `${name}/fresh: created the table\n`, err: "" };
  expect(await runCli(["create-table", "--node", node])).toEqual(created);
  expect(await runCli(["create-table", "--node", node])).toEqual({
    ...created,
    out: `${name}/fresh: the table exists\n`,
  });
  expect(await runCli(["run", "x", "--node", node, "--", "true"])).toMatchObject({ code: 0, err: "" });

  await query(url, "ALTER TABLE fresh DROP waiters");
  const differs = await runCli(["create-table", "--node", node]);
  expect(differs).toMatchObject({
    code: 78,
    err: expect.stringContaining('"public"."fresh" exists, but lacks columns: waiters'),
  });
});

test("create-table --print prints the statement without a connection", async () => {
  const node = "postgres://127.0.0.1:1/app?schema=jobs&table=locks";
  const printed = await runCli(["create-table", "--print", "--node", node, "--node", "redis://127.0.0.1:1"]);
  expect(printed).toEqual({ code: 0, out: `${createTable({ schema: "jobs", table: "locks" })};\n`, err: "" });
});

test("create-table says why it cannot create a table", async () => {
  const user = await userOf(database, "SELECT");
  expect(await runCli(["create-table", "--node", `${user}?table=denied`])).toMatchObject({
    code: 78,
    err: expect.stringContaining("permission denied for schema public"),
  });
  expect(await runCli(["create-table", "--node", `${url}?schema=nowhere`])).toMatchObject({
    code: 78,
    err: expect.stringContaining('schema "nowhere" does not exist'),
  });
  expect(await runCli(["create-table", "--node", "postgres://127.0.0.1:1/x"])).toMatchObject({
    code: 69,
    err: expect.stringContaining("ECONNREFUSED"),
  });
  expect(await runCli(["create-table", "--node", "redis://127.0.0.1:1"])).toMatchObject({
    code: 64,
    err: expect.stringContaining("none of the servers needs a table"),
  });
});

test("doctor: examines a database, and leaves one row", async () => {
  await query(url, createTable({ table: "examined" }));
  const timeouts = ["--node-timeout", "5s", "--ttl", "10m"];
  const { code, out, err } = await runCli(["doctor", ...timeouts, "--node", `${url}?table=examined`]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toMatch(/^127\.0\.0\.1:\S+ +PostgreSQL [\d.]+ .* always$/m);
  expect(out).toContain("yes fenced and durable");
  expect(await query(url, "SELECT name, owner FROM examined")).toEqual([{ name: "holdfast-doctor", owner: null }]);
});
