/** Files of one machine: Holdfast over SQLite with its defaults, and proper-lockfile. */

import { dirname, join } from "node:path";
import { sqliteNode } from "@holdfast/sqlite";
import { lock } from "proper-lockfile";
import { type Connect, ttlMs } from "./contender.ts";
import { holdfastClient } from "./holdfast-client.ts";
import { pollMs } from "./polling.ts";

export const overSqlite: Connect = async ([path], settings) =>
  holdfastClient([await sqliteNode(String(path))], settings, () => {});

/** A folder for each lock, beside the SQLite file. By default it would not wait. */
export const lockfile: Connect = async ([path]) => {
  const folder = dirname(String(path));
  const retries = { forever: true, factor: 1, minTimeout: pollMs, maxTimeout: pollMs };
  return {
    acquire: (key) => lock(join(folder, key), { realpath: false, stale: ttlMs, retries }),
    close: () => {},
  };
};
