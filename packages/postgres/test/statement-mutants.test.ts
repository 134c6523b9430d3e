import { brokenNodes as allBrokenNodes, describeBrokenNodes, type LockNodeSubject } from "@holdfast/conformance";
import { type PgPool, type PgQuery, postgresNode } from "@holdfast/postgres";
import pg from "pg";
import { freshTable, serverOfFile, subjectOver } from "./servers.ts";

/** A fault that is edited into a statement. */
interface Mutant {
  /** The fault, completing "a node that …". */
  readonly fault: string;
  /** The statement of the conformance test that catches it. */
  readonly caughtBy: string;
  readonly from: string;
  readonly to: string;
}

const mutants: readonly Mutant[] = [
  {
    fault: "releases claims of any owner",
    caughtBy: "release() leaves another owner's claim and counter alone",
    from: "AND owner = $2::text ORDER BY name FOR NO KEY UPDATE",
    to: "AND $2::text IS NOT NULL ORDER BY name FOR NO KEY UPDATE",
  },
  {
    fault: "confirms a claim that has expired",
    caughtBy: "extend() without rejoin of an expired claim changes nothing",
    from: "WHERE owner = $2::text AND until > now) = cardinality",
    to: "WHERE owner = $2::text) = cardinality",
  },
  {
    fault: "shortens a claim",
    caughtBy: "extend() of a held claim with less than its remaining ttl does not shorten it",
    from: "greatest(row.until, verdict.now",
    to: "greatest(verdict.now, verdict.now",
  },
  {
    fault: "lowers the counter",
    caughtBy: "the counter is not lowered by an extension with a lower fence",
    from: "fence = greatest(row.fence, $4::bigint)",
    to: "fence = $4::bigint",
  },
  {
    fault: "does not advance the counter of a free resource",
    caughtBy: "the fence of a grant is one more than the counter, after a release by either client",
    from: "fence = greatest(row.fence + 1,",
    to: "fence = greatest(row.fence,",
  },
  {
    fault: "advances each of several counters by itself",
    caughtBy: "the fence of several resources is one more than their highest counter, for each of them",
    from: "fence = verdict.fence",
    to: "fence = row.fence + 1",
  },
  {
    fault: "rejoins without advancing the counter",
    caughtBy: "extend() with rejoin advances the counter, as a grant does",
    from: "greatest(highest + 1,",
    to: "greatest(highest,",
  },
  {
    fault: "accepts any hint for a resource with a row",
    caughtBy: "a hint beyond this limit, however often it is sent, advances the counter no faster than the clock",
    from: "fence = greatest(row.fence + 1, least($4::bigint",
    to: "fence = greatest(row.fence + 1, greatest($4::bigint",
  },
  {
    fault: "deletes the counter with a release",
    caughtBy: "release() keeps the counter",
    from: "SET owner = NULL\n",
    to: "SET owner = NULL, fence = 0\n",
  },
  {
    fault: "looks who holds the resource, and claims it without looking again",
    caughtBy: "acquire() grants exactly one of 100 claims sent at once, in every round",
    from: "WHERE row.owner IS NULL OR row.until <= clock_timestamp() OR row.owner = $5::text",
    to: "",
  },
  {
    fault: "looks who holds the resources, and claims them without looking again",
    caughtBy: "acquire() grants exactly one of many overlapping claims sent at once, as a whole",
    from: "verdict.claims = 0 AND",
    to: "",
  },
  {
    fault: "claims those of several resources that have a row",
    caughtBy: "acquire() grants several resources at once and holds each of them",
    from: "WHEN verdict.found < cardinality($1::text::text[]) THEN 'missing'",
    to: "",
  },
  {
    fault: "names the last waiter",
    caughtBy: "release() names waiters in the order of the fence counters at which they joined, each once",
    from: "min(entry)",
    to: "max(entry)",
  },
  {
    fault: "keeps a waiter in the list that has the lock",
    caughtBy: "acquire() that is granted removes its waiter from the waiting list, and no other",
    from: "CASE WHEN row.waiters IS NOT NULL THEN",
    to: "CASE WHEN row.waiters IS NOT NULL THEN row.waiters WHEN false THEN",
  },
];

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

describeBrokenNodes("the statements on a real server", {
  create: async () => {
    const { server: _, rivalModule, ...subject } = await subjectOver(server, "pg");
    return subject;
  },
  noServer: "outages are not what a statement can get wrong",
  noOtherProcess: "the process of a client is not what a statement can get wrong",
  brokenNodes: mutants.map((mutant) => ({ ...mutant, create: () => brokenSubject(mutant) })),
});

// These faults are in clients and processes, which only a real server shows. The watches of a node share a connection, and
// its inspections those of the pool, so that one that stays open is none too many.
describeBrokenNodes("a node over PostgreSQL", {
  create: () => subjectOver(server, "pg"),
  brokenNodes: allBrokenNodes.filter(
    ({ needs = [] }) =>
      needs.some((part) => part === "otherProcess" || part === "server") &&
      needs.every((part) => part !== "watch" && part !== "inspect"),
  ),
});
