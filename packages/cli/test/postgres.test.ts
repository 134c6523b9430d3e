import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTable } from "@holdfast/postgres";
import { reapedDirectory } from "@holdfast/testkit";
import { startPostgresServer } from "@holdfast/testkit/postgres-server";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { query, sharedDatabase, stopSharedDatabase, userOf } from "./doctor/postgres-lab.ts";
import { busyMachineFolder, runCli, startCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

const redis = withServers(1);
afterAll(stopSharedDatabase);
const database = await sharedDatabase();
const url = database.connectionString;
const name = `127.0.0.1:${database.port}/postgres`;
const env = { HOLDFAST_NODES: url };

test("run: locks over PostgreSQL, and inspect, list and release show and free the lock", async () => {
  const holder = startCli(
    ["run", "b", "a'b\u00e9", "--label", "alice", "--", "sh", "-c", "echo $HOLDFAST_FENCE; read x"],
    {
      env,
    },
  );
  await holder.prints("\n");
  const fence = holder.out().trim();
  const inspected = await runCli(["inspect", "b"], { env });
  expect(inspected.out).toMatch(new RegExp(`^b is held by alice\n[^]*\n${name} +alice +\\d+s +${fence}\n$`));
  const rival = await runCli(["run", "b", "--no-wait", "--", "true"], { env });
  expect(rival).toEqual({ code: 75, out: "", err: "holdfast: could not lock b: b is held by alice\n" });

  const listed = await runCli(["list"], { env });
  expect(listed).toMatchObject({ code: 0, err: "" });
  expect(listed.out.replaceAll(/ +/g, " ")).toMatch(
    new RegExp(`^a'b\u00e9 alice \\d+s ${fence} 1 of 1\nb alice \\d+s ${fence} 1 of 1$`, "m"),
  );
  expect((await runCli(["list", "[b-z]", "--json"], { env })).out).toContain('"locks":[{"resource":"b"');

  const [owner] = /alice:[0-9a-f]{32}/.exec(inspected.out) ?? [""];
  const released = await runCli(["release", "b", "--owner", owner, "--yes"], { env });
  expect(released).toMatchObject({ code: 0, out: expect.stringContaining("released") });
  holder.write("\n");
  await holder.ended;
  expect(await runCli(["list"], { env })).toEqual({ code: 0, out: "", err: "holdfast: no locks match *\n" });
});

test("lead: elects a leader over PostgreSQL, and the next one when it stops, and says that the table is missing", async () => {
  const command = ["--", "sh", "-c", 'echo "up $HOLDFAST_FENCE"; exec sleep 600'];
  const first = startCli(["lead", "scheduler", "--label", "alice", ...command], { env });
  await first.prints(/up \d+\n/);
  const second = startCli(["lead", "scheduler", "--label", "bob", "--verbose", ...command], { env });
  await expect.poll(() => second.err()).toContain("waiting for scheduler: another owner holds it");
  expect((await runCli(["inspect", "scheduler"], { env })).out).toMatch(/^scheduler is held by alice\n/);
  expect(second.out()).toBe("");
  first.process.kill("SIGTERM");
  expect((await first.ended).code).toBe(143);
  await second.prints(/up \d+\n/);
  expect(Number(second.out().slice(3))).toBeGreaterThan(Number(first.out().slice(3)));
  second.process.kill("SIGTERM");
  await second.ended;
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

test("run: forms a quorum of PostgreSQL and Redis servers", async () => {
  await query(url, createTable({ table: "second" }));
  const nodes = ["--node", url, "--node", `${url}?table=second`, "--node", redis.all[0]?.url ?? ""];
  const held = await runCli(["run", "mixed", ...nodes, "--", "sh", "-c", 'echo "$HOLDFAST_FENCE"']);
  expect(held).toMatchObject({ code: 0, err: "", out: expect.stringMatching(/^\d{16}\n$/) });
  const { out } = await runCli(["inspect", "mixed", "--json", ...nodes]);
  expect(JSON.parse(out)).toMatchObject({ state: "free", nodes: [{ error: null }, { error: null }, { error: null }] });
  const refused = ["--node", url, "--node", "postgres://127.0.0.1:1/x", "--node", redis.all[0]?.url ?? ""];
  expect(await runCli(["run", "mixed", ...refused, "--", "true"])).toMatchObject({ code: 0 });
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

/** Starts a server that asks the user `locker` for the password `hunter2`, and returns its port. */
async function startGuarded(): Promise<number> {
  const folder = await reapedDirectory();
  await chmod(folder, 0o755);
  const file = join(folder, "hba.conf");
  await writeFile(file, "host all holdfast 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n");
  const server = await startPostgresServer({ settings: { hba_file: file } });
  onTestFinished(() => server.stop());
  await query(server.connectionString, `${createTable()}; CREATE ROLE locker LOGIN PASSWORD 'hunter2'`);
  await query(server.connectionString, "GRANT ALL ON holdfast_locks TO locker");
  return server.port;
}

test("no command prints the password of a database", async () => {
  const port = await startGuarded();
  const place = `127.0.0.1:${port}/postgres`;
  const right = `postgres://locker:hunter2@${place}`;
  expect(await runCli(["run", "x", "--node", right, "--", "true"])).toMatchObject({ code: 0, err: "" });
  const wrong = [
    `postgres://locker:hunter2no@${place}`,
    `postgres://nobody:hunter2@${place}`,
    `${right}?sslmode=require`,
  ];
  const commands = [
    ["run", "x", "--wait", "300ms", "--verbose", "--", "true"],
    ["list"],
    ["inspect", "x", "--json"],
    ["release", "x", "--owner", "alice:1", "--yes"],
    ["doctor", "--json"],
    ["create-table"],
  ];
  for (const node of wrong) {
    const env = { HOLDFAST_NODES: node };
    const outcomes = await Promise.all(commands.map((words) => runCli(words, { env })));
    for (const [index, { code, out, err }] of outcomes.entries()) {
      expect(out + err).not.toContain("hunter2");
      expect({ words: commands[index], code }).not.toEqual({ words: commands[index], code: 0 });
      expect({ words: commands[index], code }).not.toEqual({ words: commands[index], code: 70 });
      expect(out + err).toMatch(/password authentication failed|does not support SSL/);
    }
  }
});

test("holdfast names the packages that a node needs if they are not installed", async () => {
  const folder = await busyMachineFolder();
  const { code, err } = await runCli(["inspect", "x", "--node", url], { cwd: folder, isAlone: true });
  expect({ code, err }).toEqual({
    code: 64,
    err:
      "holdfast: postgres:// nodes need packages that are not installed beside holdfast: " +
      "npm install @holdfast/postgres pg\n",
  });
});
