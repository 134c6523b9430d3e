// src/sqlite-node.ts
import type { LockNode } from "@holdfast/core";
import { acquire } from "./acquire.ts";
import { extend } from "./extend.ts";
import { inspect } from "./inspect.ts";
import { openLockFile } from "./lock-file.ts";
import { release } from "./release.ts";
import { watch } from "./watch.ts";

/** A lock node over a file, with the optional methods as well. */
export interface SqliteNode extends Required<Omit<LockNode, "verifiesServer" | "suggestedTimeoutMs">> {
  /** Closes the file. The claims stay; calls after this reject. */
  close(): void;
}

/** See {@link sqliteNode}. */
export interface SqliteNodeOptions {
  /** The node's name. Default: the path. */
  readonly name?: string | undefined;
  /** The wall clock, in whole milliseconds: the same clock for all processes that share the file. Default: the machine's. */
  readonly nowMs?: (() => number) | undefined;
}

/**
 * Makes a lock node of a SQLite file, and creates the file if there is none. All processes of the machine that open the
 * file exclude each other.
 *
 * @throws {Error} if the file cannot be opened, or is not a SQLite database
 */
export async function sqliteNode(path: string, options: SqliteNodeOptions = {}): Promise<SqliteNode> {
  const { name = path, nowMs = Date.now } = options;
  const file = await openLockFile(path, nowMs);
  return {
    name,
    acquire: (request) => file.transaction(request.timeoutMs, (claims) => acquire(claims, request)),
    extend: (request) => file.transaction(request.timeoutMs, (claims) => extend(claims, request)),
    release: (request) => file.transaction(request.timeoutMs, (claims) => release(claims, request)),
    watch: async (resources, onReleased) => watch(file, resources, onReleased),
    inspect: async (resource) => inspect(file, resource),
    close: () => file.close(),
  };
}
