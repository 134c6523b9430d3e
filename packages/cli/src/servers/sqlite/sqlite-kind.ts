import { join } from "node:path";
import type { SqliteNode } from "@holdfast/sqlite";
import { UsageError } from "../../exit-codes.ts";
import { loadDriver } from "../load-driver.ts";
import { searchList } from "../search-list.ts";
import { BadAddress, type Server, type ServerKind } from "../server.ts";
import { examineSqlite } from "./examine-sqlite.ts";

/** A SQLite file. */
export interface SqliteAddress {
  readonly path: string;
}

const scheme = /^sqlite:/i;
const packages = ["@holdfast/sqlite", "libsql"];

/** SQLite files, for the processes of this machine. */
export const sqliteKind: ServerKind<SqliteAddress> = {
  forms: "sqlite:PATH",
  scheme,
  parse(text) {
    const path = text.replace(scheme, "").replace(/^\/\/(?=\/)/, "");
    if (path === "" || path === ":memory:") throw new BadAddress("names no file");
    if (path.startsWith("//")) throw new BadAddress("has a host");
    if (/[?#]/.test(path)) throw new BadAddress("has unknown parameters");
    return { path };
  },
  async load() {
    const { sqliteNode } = await loadDriver("sqlite: nodes", packages, () => import("@holdfast/sqlite"));
    return async ({ path }) => {
      try {
        return serverOf(await sqliteNode(path));
      } catch (error) {
        const { message } = error as Error;
        if (message.includes("driver can be loaded")) throw new UsageError(`sqlite: nodes: ${message}`);
        return serverOf(failingNode(path, error as Error), error as Error);
      }
    };
  },
};

/** Makes the path of an address in a configuration file relative to its folder. Other addresses stay as they are. */
export function resolveSqlitePath(address: string, folder: string): string {
  if (!scheme.test(address)) return address;
  const path = address.replace(scheme, "");
  return path === "" || path.startsWith(":") || path.startsWith("/") ? address : `sqlite:${join(folder, path)}`;
}

/** @param problem why the file cannot be opened; undefined if it is open */
function serverOf(node: SqliteNode, problem?: Error): Server {
  return {
    name: node.name,
    node,
    prefix: null,
    firstConnection: Promise.resolve(problem === undefined),
    connectionError: () => problem,
    isMisaddressed: () => problem !== undefined,
    search: (options) => searchList(node.list(), options),
    address: () => ({ machine: "local", isTls: false, database: null }),
    examine: (options) => examineSqlite(node, node.name, options),
    async close() {
      node.close();
    },
  };
}

/** Returns a node for a file that cannot be opened. */
function failingNode(name: string, problem: Error): SqliteNode {
  const fail = (): Promise<never> => Promise.reject(problem);
  async function* list(): AsyncIterable<never> {
    yield fail();
  }
  return {
    name,
    acquire: fail,
    extend: fail,
    release: fail,
    inspect: fail,
    list,
    close() {},
  } as Partial<SqliteNode> as SqliteNode;
}
