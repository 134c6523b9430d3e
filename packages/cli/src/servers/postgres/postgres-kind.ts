import type { Socket } from "node:net";
import type { PostgresNode } from "@holdfast/postgres";
import type pg from "pg";
import { within } from "../../within.ts";
import { loadDriver } from "../load-driver.ts";
import { machineOf } from "../machine.ts";
import { searchList } from "../search-list.ts";
import { connectTimeoutMs, type Server, type ServerKind } from "../server.ts";
import { examinePostgres } from "./examine-postgres.ts";
import { listGuards } from "./guards.ts";
import { lockTable } from "./lock-table.ts";
import { type PostgresAddress, postgresAddresses } from "./postgres-address.ts";

/** How long the server may take to close the connections, in milliseconds. */
const closeTimeoutMs = 500;

/** PostgreSQL, over `pg`. */
export const postgresKind: ServerKind<PostgresAddress> = {
  ...postgresAddresses,
  async load() {
    const [{ default: driver }, { createTable, postgresNode }] = await loadDriver(
      "postgres:// nodes",
      ["@holdfast/postgres", "pg"],
      () => Promise.all([import("pg"), import("@holdfast/postgres")]),
    );
    return (address) => {
      const { name, schema, table } = address;
      const config = configOf(address);
      const pool = new driver.Pool({ ...config, allowExitOnIdle: true });
      const node = postgresNode(pool, { name, schema, table });
      const statement = createTable({ schema, table });
      return serverOf({ pool, node, statement, newClient: () => new driver.Client(config) }, address);
    };
  },
};

/** The connections to a database. */
interface Connected {
  readonly pool: pg.Pool;
  readonly node: PostgresNode;
  /** The statement that creates the table. */
  readonly statement: string;
  /** Creates a connection outside of the pool. */
  newClient(): pg.Client;
}

function serverOf({ pool, node, statement, newClient }: Connected, address: PostgresAddress): Server {
  const connection = connect(pool);
  const table = lockTable(pool, address, statement);
  return {
    name: node.name,
    node,
    prefix: null,
    ...connection,
    search: (options) => searchList(node.list(), options),
    examine: (options) => examinePostgres({ pool, node, table, newClient }, options),
    table,
    guards: () => listGuards(pool),
    async close() {
      await node.close();
      await within(closeTimeoutMs, pool.end()).catch(() => {});
    },
  };
}

/** Connects, and remembers why if that fails. Every later request tries again. */
function connect(pool: pg.Pool): Pick<Server, "firstConnection" | "connectionError" | "isMisaddressed" | "address"> {
  let problem: Error | undefined;
  let seen: ReturnType<Server["address"]> = { machine: null, isTls: false, database: null };
  pool.on("error", () => {}); // of an idle connection, which is replaced
  pool.on("connect", (client) => {
    problem = undefined;
    seen = addressOf(client);
  });
  const attempt = async (): Promise<boolean> => {
    try {
      (await pool.connect()).release();
      return true;
    } catch (error) {
      problem = error as Error;
      return false;
    }
  };
  return {
    firstConnection: attempt(),
    connectionError: () => problem,
    isMisaddressed: () => /does not support SSL/.test(problem?.message ?? ""),
    address: () => seen,
  };
}

function addressOf(client: pg.PoolClient): ReturnType<Server["address"]> {
  const { stream } = (client as unknown as { readonly connection?: { readonly stream?: Socket } }).connection ?? {};
  const isSocket = client.host.startsWith("/");
  return {
    machine: isSocket ? "local" : machineOf(stream?.remoteAddress),
    isTls: stream !== undefined && "encrypted" in stream,
    database: null,
  };
}

function configOf({ connectionString }: PostgresAddress): pg.ClientConfig {
  return {
    connectionString,
    application_name: "holdfast",
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
  };
}
