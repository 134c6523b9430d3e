import type { Socket } from "node:net";
import type { LockNode } from "@holdfast/core";
import { within } from "../../within.ts";
import { machineOf, type Server, type ServerTable, searchList } from "../server.ts";

/** How long the server may take to close the connections, in milliseconds. */
const closeTimeoutMs = 500;

/** A database of any kind, and how to use its pool of connections. */
export interface Database extends Required<Pick<Server, "examine" | "table">> {
  readonly node: LockNode & { list(): AsyncIterable<string> };
  /** Checks out a connection. */
  connect(): Promise<{ release(): void }>;
  /** Calls a listener with the stream of each new connection. */
  onConnect(listener: (stream: Socket | undefined) => void): void;
  /** Closes the pool. */
  end(): Promise<unknown>;
  /** Whether connections use a Unix domain socket. */
  readonly isSocket: boolean;
  /** Matches the messages of errors that no retry can help. */
  readonly misaddressed: RegExp;
}

/** Connects, and remembers why if that fails. Every later request tries again. */
export function databaseServer(database: Database): Server {
  const { node, table, examine, isSocket, misaddressed } = database;
  let problem: Error | undefined;
  let seen: ReturnType<Server["address"]> = { machine: null, isTls: false, database: null };
  database.onConnect((stream) => {
    problem = undefined;
    const machine = isSocket ? "local" : machineOf(stream?.remoteAddress);
    seen = { machine, isTls: stream !== undefined && "encrypted" in stream, database: null };
  });
  const attempt = async (): Promise<boolean> => {
    try {
      (await database.connect()).release();
      return true;
    } catch (error) {
      problem = error as Error;
      return false;
    }
  };
  return {
    name: node.name,
    node,
    prefix: null,
    firstConnection: attempt(),
    connectionError: () => problem,
    isMisaddressed: () => misaddressed.test(problem?.message ?? ""),
    address: () => seen,
    search: (options) => searchList(node.list(), options),
    examine,
    table,
    async close() {
      await node.close?.();
      await within(closeTimeoutMs, database.end()).catch(() => {});
    },
  };
}

/** The table that the locks are in. */
export interface LockTable<Facts extends TableFacts = TableFacts> extends ServerTable {
  /** Describes the table; undefined if it does not exist. */
  look(): Promise<Facts | undefined>;
}

/** The facts about a table. */
export interface TableFacts {
  /** The names of the columns that it lacks. */
  readonly missingColumns: readonly string[];
  /** The privileges that the user lacks. */
  readonly missingPrivileges: readonly string[];
}

/** How one kind of database describes and creates a table. */
export interface TableAccess<Facts extends TableFacts> {
  /** The quoted name of the table. */
  readonly name: string;
  /** Creates the table, if it does not exist, and names one column in each line. */
  readonly statement: string;
  /** Runs the statement. */
  execute(statement: string): Promise<unknown>;
  /** Describes the table, which should have these columns; undefined if it does not exist. */
  describe(columns: readonly string[]): Promise<Facts | undefined>;
}

/** Returns the table of a database of any kind. */
export function lockTable<Facts extends TableFacts>(access: TableAccess<Facts>): LockTable<Facts> {
  const { name, statement } = access;
  const columns = [...statement.matchAll(/^ {2}(\w+) /gm)].map(([, column]) => column as string);
  const look = () => access.describe(columns);
  return {
    statement,
    look,
    async create() {
      const before = await look();
      if (before === undefined) await access.execute(statement);
      const { missingColumns = [] } = before ?? {};
      if (missingColumns.length === 0) return before === undefined;
      throw new Error(`the table ${name} exists, but lacks columns: ${missingColumns.join(", ")}`);
    },
  };
}
