/** Holdfast lock nodes over SQLite files. */

export type {
  SqliteDatabase,
  SqliteDriver,
  SqliteDriverName,
  SqliteStatement,
} from "./database.ts";
export { type SqliteNode, type SqliteNodeOptions, sqliteNode } from "./sqlite-node.ts";
