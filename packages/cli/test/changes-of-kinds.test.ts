/** Heals and changes servers that are no Redis. */
import { createTable as createMysqlTable } from "@holdfast/mysql";
import { createTable } from "@holdfast/postgres";
import { startEtcdServer } from "@holdfast/testkit/etcd-server";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { etcdUrl } from "./doctor/etcd-situations.ts";
import { queryMysql, sharedMysql, stopSharedMysql } from "./doctor/mysql-lab.ts";
import { query, sharedDatabase, stopSharedDatabase } from "./doctor/postgres-lab.ts";
import { nameOf, newFiles } from "./support/files.ts";
import { lockOnce, runCli } from "./support/program.ts";

afterAll(stopSharedDatabase);
afterAll(stopSharedMysql);
const { connectionString, port } = await sharedDatabase();

/** Creates a table, and returns the address and the name of the node in it. */
async function newTable(table: string) {
  await query(connectionString, createTable({ table }));
  return { url: `${connectionString}?table=${table}`, name: `127.0.0.1:${port}/postgres/${table}` };
}

async function newMysqlTable(table: string) {
  const server = await sharedMysql();
  await queryMysql(server.uri, createMysqlTable({ table }));
  return { url: `${server.uri}?table=${table}`, name: `127.0.0.1:${server.port}/holdfast/${table}` };
}

async function newEtcd() {
  const server = await startEtcdServer();
  onTestFinished(() => server.stop());
  return { url: etcdUrl(server), name: `127.0.0.1:${server.port}` };
}

async function newFile() {
  const [url = ""] = await newFiles(1);
  return { url, name: nameOf(url) };
}

test("heal: gives tables of PostgreSQL and MariaDB, an etcd cluster and a SQLite file a floor above the tokens of the others", async () => {
  const nodes = [await newTable("healed"), await newMysqlTable("healed"), await newEtcd(), await newFile()];
  const env = { HOLDFAST_NODES: nodes.map(({ url }) => url).join(" ") };
  const { fence = Number.NaN } = await lockOnce("x", env);
  for (const [index, { name }] of nodes.entries()) {
    const { code, out } = await runCli(["heal", name, "--settle", "0", "--json"], { env });
    const read = nodes.filter((node) => node.name !== name).map((node) => node.name);
    expect({ code, ...JSON.parse(out) }).toMatchObject({ code: 0, nodes: [name], counters: 3, read });
    expect(JSON.parse(out).floor).toBe(fence + 1 + index);
  }
  expect((await lockOnce("x", env)).fence).toBeGreaterThan(fence + 2);
});

test("migrate: changes a PostgreSQL table to one of MariaDB, that to an etcd cluster, and that to a SQLite file", async () => {
  const [table, other] = [await newTable("changed"), await newMysqlTable("changed")];
  const [etcd, file] = [await newEtcd(), await newFile()];
  const moves = [
    { from: table, to: other, generation: 0 },
    { from: other, to: etcd, generation: 1 },
    { from: etcd, to: file, generation: 2 },
  ];
  const fences: (number | undefined)[] = [];
  const lock = async (env: Readonly<Record<string, string>>) => fences.push((await lockOnce("x", env)).fence);
  await lock({ HOLDFAST_NODES: table.url });
  for (const { from, to, generation } of moves) {
    const [before, after] = [generation, generation + 1].map((each) => ({ HOLDFAST_GENERATION: String(each) }));
    const joint = { HOLDFAST_OLD: from.url, HOLDFAST_NEW: to.url, ...before };
    for (const step of ["begin", "join", "end"]) {
      const args = ["migrate", step, "--watch-for", "300ms", "--json"];
      expect(await runCli(args, { env: joint })).toMatchObject({ code: 0 });
      if (step !== "end") await lock(joint);
    }
    expect(await lockOnce("x", { HOLDFAST_NODES: from.url, ...before })).toMatchObject({ code: 78 });
    await lock({ HOLDFAST_NODES: to.url, ...after });
  }
  expect(fences).toEqual([...new Set(fences)].map(Number).sort((a, b) => a - b));
});
