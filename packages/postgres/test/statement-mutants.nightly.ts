import { brokenNodes as allBrokenNodes, describeBrokenNodes, type LockNodeSubject } from "@holdfast/conformance";
import { type PgPool, type PgQuery, postgresNode } from "@holdfast/postgres";
import pg from "pg";
import { freshTable, serverOfFile, subjectsOver } from "./servers.ts";
import { type Mutant, mutants } from "./statement-mutants.ts";

const server = await serverOfFile();

/** Returns a pool whose statements have a fault. */
function withFault(pool: pg.Pool, { from, to }: Mutant): PgPool {
  const query = (client: pg.PoolClient) => (given: PgQuery) => {
    const { name, ...unnamed } = given;
    return client.query({ ...unnamed, text: given.text.replaceAll(from, to) });
  };
  return {
    totalCount: 0,
    connect(callback) {
      pool.connect((error, client) => {
        if (!client) return callback(error, undefined);
        callback(undefined, {
          query: query(client),
          release: (destroy) => client.release(destroy),
          on: client.on.bind(client),
          removeListener: client.removeListener.bind(client),
        });
      });
    },
    ...({ Client: pg.Client, options: pool.options } as object),
  };
}

async function brokenSubject(mutant: Mutant): Promise<LockNodeSubject> {
  const { connectionString } = server;
  const table = await freshTable(connectionString);
  const pool = new pg.Pool({ connectionString });
  pool.on("error", () => {});
  const [node, rival] = [1, 2].map(() => postgresNode(withFault(pool, mutant), { table }));
  if (!node || !rival) throw new Error("two nodes");
  return {
    node,
    rival,
    async close() {
      await Promise.all([node.close(), rival.close()]);
      await pool.end();
    },
  };
}

const createSubject = subjectsOver(server, "pg");

describeBrokenNodes("the statements on a real server", {
  create: async () => {
    const { server: _, rivalModule, ...subject } = await createSubject();
    return subject;
  },
  noServer: "outages are not what a statement can get wrong",
  noOtherProcess: "the process of a client is not what a statement can get wrong",
  brokenNodes: mutants.map((mutant) => ({ ...mutant, create: () => brokenSubject(mutant) })),
});

// These faults are in clients and processes, which only a real server shows. The watches of a node share a connection, and
// its inspections those of the pool, so that one that stays open is none too many.
describeBrokenNodes("a node over PostgreSQL", {
  create: createSubject,
  brokenNodes: allBrokenNodes.filter(
    ({ needs = [] }) =>
      needs.some((part) => part === "otherProcess" || part === "server") &&
      needs.every((part) => part !== "watch" && part !== "inspect"),
  ),
});
