import { existsSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import type { LockNode } from "@holdfast/core";
import { assertOptions, checkType, ServerCheck } from "@holdfast/core/node";
import { driverNames, openDatabase, type SqliteDriver } from "./database.ts";
import { extend } from "./extend.ts";
import { raiseFloor, scan } from "./floor.ts";
import { inspect } from "./inspect.ts";
import { list } from "./list.ts";
import { type Claims, openLockFile, untilNotBusy } from "./lock-file.ts";
import { createSameFileCheck, identityOf } from "./same-file.ts";
import { acquireOrWait, releaseToNext } from "./waiting.ts";
import { setUpWaitingLists, type WaitingLists } from "./waiting-lists.ts";
import { createWatch } from "./watch.ts";

/** A lock node over a SQLite file, with all the optional methods. */
export interface SqliteNode extends Required<LockNode> {
  /** The default `nodeTimeoutMs` of a `Redlock`: 1 000 ms, because other processes may be writing to a slow disk. */
  readonly suggestedTimeoutMs: number;
  /**
   * Lists the resources that are held at the moment, page by page, in no particular order.
   *
   * @example
   * ```ts
   * import { sqliteNode } from "@holdfast/sqlite";
   *
   * const node = await sqliteNode("locks.db");
   * for await (const resource of node.list()) console.log(resource);
   * ```
   */
  list(): AsyncIterable<string>;
  /** Ends all watches, and closes the file. Claims and counters stay; calls after this reject. Safe to repeat. */
  close(): void;
}

/** The options of {@link sqliteNode}. */
export interface SqliteNodeOptions {
  /** The node's name in errors, events and logs. Default: the path. */
  readonly name?: string | undefined;
  /**
   * The driver: `"node:sqlite"`, `"libsql"`, `"better-sqlite3"`, or a function that opens the file with another one.
   * Default: the first of these three that can be loaded.
   */
  readonly driver?: SqliteDriver | undefined;
  /**
   * Returns the wall clock, in milliseconds since the Unix epoch: the same clock for all processes that share the file.
   * Default: the clock of the machine.
   */
  readonly nowMs?: (() => number) | undefined;
  /**
   * Whether a file that another node of the same `Redlock` uses is refused, as it must not vote twice. Switch it off for
   * tests that put several nodes on one file. Default true.
   */
  readonly verifyServer?: boolean | undefined;
}

const suggestedTimeoutMs = 1_000;

/**
 * Creates a lock node of a SQLite file, and the file if there is none. All processes of this machine that open the same
 * file exclude each other. Calls reject if the file is deleted or replaced.
 *
 * @param path the path of the file, on a local disk; its folder must exist
 * @throws {TypeError | RangeError} naming the bad argument
 * @throws {Error} if no driver can be loaded, or the file cannot be opened or written
 *
 * @example
 * ```ts
 * import { Redlock } from "@holdfast/core";
 * import { sqliteNode } from "@holdfast/sqlite";
 *
 * const node = await sqliteNode("locks.db");
 * const redlock = new Redlock([node]);
 * await redlock.using("invoice:42", () => console.log("alone with it"));
 * node.close();
 * ```
 */
export async function sqliteNode(path: string, options: SqliteNodeOptions = {}): Promise<SqliteNode> {
  assertOptions(options, ["name", "driver", "nowMs", "verifyServer"], "sqliteNode");
  const { name = path, driver, nowMs = Date.now, verifyServer = true } = options;
  checkType("path", "string", path);
  if (path === "" || path === ":memory:")
    throw new RangeError("path must be the path of a file, which processes share");
  checkType("name", "string", name);
  checkType("nowMs", "function", nowMs);
  checkType("verifyServer", "boolean", verifyServer);
  checkDriver(driver);

  const wholeMs = (): number => Math.floor(nowMs());
  const absolutePath = resolve(path); // the program may change its directory later
  // SQLite keeps its log beside the file itself, not beside a symbolic link.
  const realPath = existsSync(absolutePath) ? realpathSync(absolutePath) : absolutePath;
  const database = await openDatabase(realPath, driver);
  const file = await openLockFile(realPath, database, wholeMs);
  const listsAt = await setUpWaitingLists(database).catch((error) => {
    file.close();
    throw error;
  });
  const assertSameFile = createSameFileCheck(absolutePath);
  const check = verifyServer ? new ServerCheck(name, async () => identityOf(absolutePath)) : undefined;
  const watch = createWatch(file);
  const transaction = <T>(timeoutMs: number, work: (claims: Claims, lists: WaitingLists) => T): Promise<T> =>
    file.transaction(timeoutMs, (claims) => {
      assertSameFile();
      return work(claims, listsAt(claims.nowMs));
    });
  return {
    name,
    suggestedTimeoutMs,
    verifiesServer: verifyServer,
    acquire(request) {
      const send = () => transaction(request.timeoutMs, (claims, lists) => acquireOrWait(claims, lists, request));
      return check ? check.vote(request, send) : send();
    },
    extend: (request) => transaction(request.timeoutMs, (claims) => extend(claims, request)),
    release: (request) => transaction(request.timeoutMs, (claims, lists) => releaseToNext(claims, lists, request)),
    watch: async (resources, onReleased) => watch(resources, onReleased),
    inspect: async (resource) => inspect(file, resource),
    raiseFloor: (request) => transaction(request.timeoutMs, (claims) => raiseFloor(claims, request)),
    scan: ({ timeoutMs, cursor }) =>
      untilNotBusy(timeoutMs, () => {
        assertSameFile();
        return scan(file, cursor);
      }),
    list: () => list(database, wholeMs),
    close: () => file.close(),
  };
}

function checkDriver(driver: unknown): void {
  if (driver === undefined || typeof driver === "function") return;
  checkType("driver", "string", driver);
  if (!(driverNames as readonly unknown[]).includes(driver)) {
    throw new RangeError(`driver must be one of ${driverNames.join(", ")}, or a function that opens a file`);
  }
}
