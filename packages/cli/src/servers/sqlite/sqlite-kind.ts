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
    return {
      async open({ path }) {
        try {
          return serverOf(await sqliteNode(path), path);
        } catch (error) {
          const { message } = error as Error;
          if (message.includes("driver can be loaded")) throw new UsageError(`sqlite: nodes: ${message}`);
          return unusable(path, error as Error);
        }
      },
    };
  },
};

/** Makes the path of an address in a configuration file relative to its folder. Other addresses stay as they are. */
export function resolveSqlitePath(address: string, folder: string): string {
  if (!scheme.test(address)) return address;
  const path = address.replace(scheme, "");
  return path === "" || path.startsWith(":") || path.startsWith("/") ? address : `sqlite:${join(folder, path)}`;
}

function serverOf(node: SqliteNode, path: string): Server {
  return {
    name: path,
    node,
    prefix: null,
    firstConnection: Promise.resolve(true),
    connectionError: () => undefined,
    isMisaddressed: () => false,
    search: (options) => searchList(node.list(), options),
    address,
    examine: (options) => examineSqlite(node, path, options),
    async close() {
      node.close();
    },
  };
}

/** Returns a server for a file that cannot be opened. */
function unusable(path: string, problem: Error): Server {
  const fail = (): Promise<never> => Promise.reject(problem);
  const node = { name: path, acquire: fail, extend: fail, release: fail, inspect: fail };
  return {
    name: path,
    node,
    prefix: null,
    firstConnection: Promise.resolve(false),
    connectionError: () => problem,
    isMisaddressed: () => true,
    search: async () => ({ resources: new Set(), notUtf8: new Set(), error: problem }),
    address,
    examine: fail,
    async close() {},
  };
}

function address(): ReturnType<Server["address"]> {
  return { machine: "local", isTls: false, database: null };
}
