/** The commands for locks over the stores that are no Redis. */
import { join } from "node:path";
import { createTable as createMysqlTable } from "@holdfast/mysql";
import { createTable } from "@holdfast/postgres";
import { isNightly, reapedDirectory } from "@holdfast/testkit";
import { startEtcdServer } from "@holdfast/testkit/etcd-server";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { etcdUrl } from "./doctor/etcd-situations.ts";
import { queryMysql, sharedMysql, stopSharedMysql } from "./doctor/mysql-lab.ts";
import { query, sharedDatabase, stopSharedDatabase } from "./doctor/postgres-lab.ts";
import { holdLock, killLater, runCli, startCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

afterAll(stopSharedDatabase);
afterAll(stopSharedMysql);
const redis = withServers(2);

/** The address of a store, the name of its node, and the prefix of its keys. */
interface Store {
  readonly url: string;
  readonly name: string;
  readonly prefix: string;
}

let tables = 0;

const stores: readonly (readonly [kind: string, start: () => Promise<Store>])[] = [
  [
    "PostgreSQL",
    async () => {
      const { connectionString, port } = await sharedDatabase();
      const table = `store${++tables}`;
      await query(connectionString, createTable({ table }));
      return { url: `${connectionString}?table=${table}`, name: `127.0.0.1:${port}/postgres/${table}`, prefix: "" };
    },
  ],
  [
    "MariaDB",
    async () => {
      const { uri, port } = await sharedMysql();
      const table = `store${++tables}`;
      await queryMysql(uri, createMysqlTable({ table }));
      return { url: `${uri}?table=${table}`, name: `127.0.0.1:${port}/holdfast/${table}`, prefix: "" };
    },
  ],
  [
    "etcd",
    async () => {
      const server = await startEtcdServer();
      onTestFinished(() => server.stop());
      return { url: etcdUrl(server), name: `127.0.0.1:${server.port}`, prefix: "lock/" };
    },
  ],
  [
    "SQLite",
    async () => {
      const name = join(await reapedDirectory(), "locks.db");
      return { url: `sqlite:${name}`, name, prefix: "" };
    },
  ],
];

test.each(stores)("run: locks over %s, and inspect, list and release show and free the lock", async (_, start) => {
  const { url, name, prefix } = await start();
  const env = { HOLDFAST_NODES: url };
  const { fence, owner, end } = await holdLock(["b", "a'b\u00e9", "--label", "alice"], env);
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

  const released = await runCli(["release", "b", "--owner", owner], { env });
  expect(released).toMatchObject({ code: 0, out: expect.stringContaining("released") });
  await end();
  expect(await runCli(["list"], { env })).toEqual({ code: 0, out: "", err: `holdfast: no locks match ${prefix}*\n` });
});

// Elections are built on locks, so one store shows that they work over others than Redis.
test.each(isNightly ? stores : stores.slice(-1))(
  "lead: elects a leader over %s, and the next one when an operator releases the lock, it is killed, or stops",
  async (_, start) => {
    const env = { HOLDFAST_NODES: (await start()).url };
    const command = ["--", "sh", "-c", 'echo "up $HOLDFAST_FENCE $HOLDFAST_OWNER $$"; exec sleep 600'];
    const lead = (label: string) =>
      startCli(["lead", "scheduler", "--ttl", "3s", "--verbose", "--label", label, ...command], { env });
    const first = lead("alice");
    await first.prints("\n");
    const second = lead("bob");
    await expect.poll(() => second.err()).toContain("waiting for scheduler: another owner holds it");
    expect((await runCli(["inspect", "scheduler"], { env })).out).toMatch(/^scheduler is held by alice\n/);
    const [, fence = "", owner = ""] = first.out().split(/\s/);
    expect(await runCli(["release", "scheduler", "--owner", owner], { env })).toMatchObject({ code: 0 });
    await second.prints("\n");
    const [, nextFence = "", , pid = ""] = second.out().split(/\s/);
    expect(Number(nextFence)).toBeGreaterThan(Number(fence));
    await expect.poll(() => first.err()).toContain("lost the lock, ending the command");
    killLater(Number(pid));
    second.process.kill("SIGKILL");
    await first.prints(/up[\s\S]*\nup/);
    const third = lead("carol");
    await expect.poll(() => third.err()).toContain("waiting for scheduler: another owner holds it");
    first.process.kill("SIGTERM");
    expect((await first.ended).code).toBe(143);
    await third.prints("\n");
    third.process.kill("SIGTERM");
    await third.ended;
  },
);

test.each(stores)("run: forms a quorum of %s and Redis servers", async (_, start) => {
  const env = { HOLDFAST_NODES: `${(await start()).url} ${redis.env.HOLDFAST_NODES}` };
  const held = await runCli(["run", "mixed", "--", "sh", "-c", 'echo "$HOLDFAST_FENCE"'], { env });
  expect(held).toMatchObject({ code: 0, err: "", out: expect.stringMatching(/^\d{16}\n$/) });
  const { out } = await runCli(["inspect", "mixed", "--json"], { env });
  expect(JSON.parse(out)).toMatchObject({ state: "free", nodes: [{ error: null }, { error: null }, { error: null }] });
});

test.each([
  ["postgres:// nodes", "postgres://127.0.0.1:1/x", "@holdfast/postgres pg"],
  ["mysql:// nodes", "mysql://127.0.0.1:1/x", "@holdfast/mysql mysql2"],
  ["sqlite: nodes", "sqlite:locks.db", "libsql"],
])("holdfast names the packages that %s need if they are not installed", async (what, url, packages) => {
  const { code, err } = await runCli(["inspect", "x", "--node", url], { isAlone: true });
  expect(code).toBe(64);
  expect(err).toMatch(new RegExp(`^holdfast: ${what}.* npm install ${packages}`));
});
