/** Changes servers of one kind to those of another. */
import { createTable as createMysqlTable } from "@holdfast/mysql";
import { createTable } from "@holdfast/postgres";
import { startEtcdServer } from "@holdfast/testkit/etcd-server";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { etcdUrl } from "./doctor/etcd-situations.ts";
import { queryMysql, sharedMysql, stopSharedMysql } from "./doctor/mysql-lab.ts";
import { query, sharedDatabase, stopSharedDatabase } from "./doctor/postgres-lab.ts";
import { newFiles } from "./support/files.ts";
import { lockOnce, runCli } from "./support/program.ts";

afterAll(stopSharedDatabase);
afterAll(stopSharedMysql);
const { connectionString } = await sharedDatabase();

/** Creates a table, and returns the address of the node in it. */
async function newTable(): Promise<string> {
  await query(connectionString, createTable({ table: "changed" }));
  return `${connectionString}?table=changed`;
}

async function newMysqlTable(): Promise<string> {
  const { uri } = await sharedMysql();
  await queryMysql(uri, createMysqlTable({ table: "changed" }));
  return `${uri}?table=changed`;
}

async function newEtcd(): Promise<string> {
  const server = await startEtcdServer();
  onTestFinished(() => server.stop());
  return etcdUrl(server);
}

test("migrate: changes a PostgreSQL table to one of MariaDB, that to an etcd cluster, and that to a SQLite file", async () => {
  const nodes = [await newTable(), await newMysqlTable(), await newEtcd(), ...(await newFiles(1))];
  const fences: (number | undefined)[] = [];
  const lock = async (env: Readonly<Record<string, string>>) => fences.push((await lockOnce("x", env)).fence);
  await lock({ HOLDFAST_NODES: nodes[0] as string });
  for (const [generation, to] of nodes.slice(1).entries()) {
    const from = nodes[generation] as string;
    const [before, after] = [generation, generation + 1].map((each) => ({ HOLDFAST_GENERATION: String(each) }));
    const joint = { HOLDFAST_OLD: from, HOLDFAST_NEW: to, ...before };
    for (const step of ["begin", "join", "end"]) {
      const args = ["migrate", step, "--watch-for", "300ms"];
      expect(await runCli(args, { env: joint })).toMatchObject({ code: 0 });
      if (step !== "end") await lock(joint);
    }
    expect(await lockOnce("x", { HOLDFAST_NODES: from, ...before })).toMatchObject({ code: 78 });
    await lock({ HOLDFAST_NODES: to, ...after });
  }
  expect(fences).toEqual([...new Set(fences)].map(Number).sort((a, b) => a - b));
});
