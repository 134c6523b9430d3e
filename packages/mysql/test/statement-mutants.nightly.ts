import { describeBrokenNodes, type LockNodeSubject } from "@holdfast/conformance";
import { type MysqlPool, type MysqlQuery, mysqlNode } from "@holdfast/mysql";
import mysql from "mysql2/promise";
import { freshTable, serverOfFile, subjectsOver } from "./servers.ts";
import { type Mutant, mutants } from "./statement-mutants.ts";

const server = await serverOfFile();

/** Returns a pool whose statements have a fault. */
function withFault(pool: mysql.Pool, { from, to }: Mutant): MysqlPool {
  return {
    async getConnection() {
      const connection = await pool.getConnection();
      return {
        query: (query: MysqlQuery) => connection.query({ ...query, sql: query.sql.replaceAll(from, to) }),
        release: () => connection.release(),
        destroy: () => connection.destroy(),
      };
    },
  };
}

async function brokenSubject(mutant: Mutant): Promise<LockNodeSubject> {
  const table = await freshTable(server.uri);
  const pool = mysql.createPool(server.uri);
  const [node, rival] = [1, 2].map(() => mysqlNode(withFault(pool, mutant), { table }));
  if (!node || !rival) throw new Error("two nodes");
  return { node, rival, close: () => pool.end() };
}

const createSubject = subjectsOver(server);

describeBrokenNodes("the statements on a real server", {
  create: async () => {
    const { server: _, rivalModule, ...subject } = await createSubject();
    return subject;
  },
  noServer: "outages are not what a statement can get wrong",
  noOtherProcess: "the process of a client is not what a statement can get wrong",
  brokenNodes: mutants.map((mutant) => ({ ...mutant, create: () => brokenSubject(mutant) })),
});
