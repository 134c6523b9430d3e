import type { Socket } from "node:net";
import type { LockNode } from "@holdfast/core";
import { within } from "../../within.ts";
import { machineOf } from "../machine.ts";
import { searchList } from "../search-list.ts";
import type { Server } from "../server.ts";

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
