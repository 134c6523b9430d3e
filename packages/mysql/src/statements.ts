import type { Floor } from "@holdfast/core/node";
import type { Entry } from "./rules.ts";
import { bytesOf } from "./table.ts";

/*
 * All SQL, without parameters: whatever settings a client or a session has, a number and a hexadecimal literal mean the same.
 * Each statement commits by itself, so a client that stops between two of them keeps nothing locked.
 *
 * A resource has two rows. One has its claim; the other, the guard, has its name after a tab, and its counter again. A
 * transaction that has called `holds` keeps the guard locked in share mode. A write that changes the counter, as each claim of
 * another owner does, writes the guard, too; an extension or a release does not.
 *
 * A write first locks the rows that it wants, without waiting for others, and changes all of them or none: those that are as
 * the client has read them. No write thus waits for another one, or for a transaction.
 */

/** The statements over one table. */
export interface Statements {
  /**
   * Reads resources, one row for each, and the clock, the floor, the epoch, whether the server is read-only, and whether the
   * connection commits by itself.
   */
  look(names: readonly Buffer[]): string;
  /** Inserts the rows that are missing, those of names and that of the floor. */
  insert(names: readonly Buffer[]): string;
  /** Claims names that have no rows. Fails if they have any meanwhile. */
  begin(changes: readonly Change[], seen: Floor): string;
  /**
   * Changes rows, all or none: those that nobody has changed since they were read, or keeps locked. For a new claim, the floor
   * and the epoch have to be as read, too.
   */
  change(changes: readonly Change[], seen: Floor | undefined): string;
  /** Keeps an exclusive claim on one resource, and returns the counter, unless it is lower than the fence. */
  extendOne(name: Buffer, owner: string, ttlMs: number, fence: number): string;
  /** Ends an exclusive claim on one resource. */
  releaseOne(name: Buffer, owner: string): string;
  /** Raises the floor and the epoch. Waits for the claims that have read the old ones. */
  raise(floor: Floor): string;
  /** Reads the names of held resources after a name, in order, up to {@link pageSize}. */
  list(after: Buffer): string;
  /**
   * Reads the highest counter of deleted rows, if there is one, under a name that no resource has, and then the rows of resources
   * after a name, in order: one more than {@link pageSize} in all. Each with the clock.
   */
  scan(after: Buffer): string;
  /** Reads settings that tell servers apart, and whether this one is read-only. */
  readonly variables: string;
  /** Reads what tells the clusters of Galera apart. */
  readonly clusterState: string;
  /** Reads names that nobody has claimed for some time. */
  unused(unusedForUs: number): string;
  /** Locks the row of the floor, against new claims. */
  readonly lockFloor: string;
  /** Locks and reads the rows of those names that are unused, but for those that others keep locked. */
  lockUnused(names: readonly Buffer[], unusedForUs: number): string;
  /** Raises the floor to the highest counter of rows to delete, and keeps this counter. */
  bury(highest: number): string;
  /** Deletes the rows of names. */
  remove(names: readonly Buffer[]): string;
  /** Locks the guards of names until the end of the transaction, and reads their counters. */
  guard(names: readonly Buffer[]): string;
  /** Reads claims in a transaction, each as one text: as they are now, instead of at its snapshot, if they are locked. */
  held(names: readonly Buffer[], isLocked: boolean): string;
}

/** How many rows the statements `list` and `scan` read. */
export const pageSize = 1_000;

/** The server's clock in microseconds, whatever the time zone of the session. */
const now = "TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6))";

/** The name of the row with the floor and the epoch. No resource has it. `''` is null with an `sql_mode` of MariaDB. */
const floorName = "X''";

/** The name of a guard begins with a tab. Names of resources do not: they come after it. */
const guardOf = (name: string): string => `CONCAT(X'09', ${name})`;
/** The guard of no resource has the highest counter of all rows that were deleted. */
const deletedName: Buffer = Buffer.from("\t");

const isOfResource = "name > X'0A'";

const literal = (bytes: Buffer): string => `X'${bytes.toString("hex")}'`;
const nullable = (bytes: Buffer | null): string => (bytes === null ? "NULL" : literal(bytes));

/** A table with these rows and columns. */
const rowsOf = (rows: readonly (readonly string[])[], columns: readonly string[]): string =>
  rows
    .map(
      (row, index) => `SELECT ${row.map((value, at) => (index > 0 ? value : `${value} AS ${columns[at]}`)).join(", ")}`,
    )
    .join(" UNION ALL ");
const namesOf = (names: readonly Buffer[]): string =>
  rowsOf(
    names.map((name) => [literal(name)]),
    ["name"],
  );

/** An entry, with the stored name of its resource, and how many of its two rows there are. */
export interface NamedEntry extends Entry {
  readonly name: Buffer;
  readonly rows: number;
}

/** A change of an entry. */
export interface Change {
  readonly before: NamedEntry;
  readonly after: Entry;
}

/**
 * Returns the statements over a table.
 *
 * @param table the quoted name
 */
export function statementsOver(table: string): Statements {
  const floor = `(SELECT kept.fence FROM ${table} AS kept WHERE kept.name = ${floorName} LOCK IN SHARE MODE)`;
  const epoch = `(SELECT kept.epoch FROM ${table} AS kept WHERE kept.name = ${floorName} LOCK IN SHARE MODE)`;
  /** Whether the floor and the epoch are as read. Keeps them so until the statement has committed. */
  const isAt = (seen: Floor): string =>
    `COALESCE(${floor}, 0) = ${seen.floor} AND COALESCE(${epoch}, 0) = ${seen.epoch}`;
  const columns = ["name", "owner", "until", "fence", "sharers", "favours_until"];
  /** The owner, the end, the counter and the sharers of an entry. */
  const claimOf = ({ owner, untilUs, fence, sharers }: Entry): string[] => [
    nullable(owner === null ? null : bytesOf(owner)),
    String(untilUs),
    String(fence),
    nullable(sharers === null ? null : Buffer.from(JSON.stringify(sharers))),
  ];
  const valuesOf = ({ before, after }: Change): string[] => [
    literal(before.name),
    ...claimOf(after),
    String(after.favoursUntilUs),
  ];
  /** The rows of claims and of guards that changes make. */
  const made = "(SELECT 0 AS is_guard UNION ALL SELECT 1) AS parts";
  const makes = `IF(is_guard, ${guardOf("name")}, name), IF(is_guard, NULL, owner),
      IF(is_guard, 0, until), fence, IF(is_guard, NULL, sharers), IF(is_guard, 0, favours_until), ${now}`;
  const into = `INSERT INTO ${table} (${columns.join(", ")}, released_at)`;

  return {
    look: (names) => `
      SELECT held.owner, held.until, held.fence, held.sharers, held.favours_until, held.version,
        (held.name IS NOT NULL) + (guard.name IS NOT NULL), ${now}, kept.fence, kept.epoch, CONCAT(@@global.read_only), @@autocommit
      FROM (${rowsOf(
        names.map((name, index) => [literal(name), String(index)]),
        ["name", "place"],
      )}) AS wanted
      LEFT JOIN ${table} AS held ON held.name = wanted.name
      LEFT JOIN ${table} AS guard ON guard.name = ${guardOf("wanted.name")}
      LEFT JOIN ${table} AS kept ON kept.name = ${floorName}
      ORDER BY wanted.place LIMIT ${names.length}`,

    insert: (names) => `
      INSERT IGNORE INTO ${table} (name, until, fence, epoch) VALUES (${floorName}, 0, 0, 0)${names
        .map((name) => `, (${guardOf(literal(name))}, 0, 0, NULL), (${literal(name)}, 0, 0, NULL)`)
        .join("")}`,

    begin: (changes, seen) => `
      ${into} SELECT ${makes} FROM (${rowsOf(changes.map(valuesOf), columns)}) AS next, ${made}
      WHERE ${isAt(seen)} ORDER BY name, is_guard DESC`,

    change: (changes, seen) => {
      const isGuarded = changes.some(({ before, after }) => before.fence !== after.fence);
      // At READ UNCOMMITTED, the version may be that of a change that was rolled back, and have another one by now.
      const rows = changes.map((change) => {
        return [...valuesOf(change), String(change.before.version), ...claimOf(change.before)];
      });
      const seenColumns = ["seen_version", "seen_owner", "seen_until", "seen_fence", "seen_sharers"];
      return `
        ${into} SELECT ${isGuarded ? makes : `name, owner, until, fence, sharers, favours_until, ${now}`} FROM (
          SELECT next.*, COUNT(*) OVER () AS found FROM (${rowsOf(rows, [...columns, ...seenColumns])}) AS next
          STRAIGHT_JOIN ${table} AS held FORCE INDEX (PRIMARY)
            ON held.name = next.name AND held.version = seen_version AND held.fence = seen_fence
              AND held.owner <=> seen_owner AND held.until = seen_until AND held.sharers <=> seen_sharers
          ${isGuarded ? `STRAIGHT_JOIN ${table} AS guard FORCE INDEX (PRIMARY) ON guard.name = ${guardOf("next.name")}` : ""}
          FOR UPDATE SKIP LOCKED
        ) AS locked${isGuarded ? `, ${made}` : ""}
        WHERE found = ${changes.length}${seen === undefined ? "" : ` AND ${isAt(seen)}`}
        ON DUPLICATE KEY UPDATE owner = VALUES(owner), until = VALUES(until), fence = VALUES(fence),
          sharers = VALUES(sharers), favours_until = VALUES(favours_until),
          released_at = IF(VALUES(owner) IS NULL, VALUES(released_at), ${table}.released_at),
          version = ${table}.version + 1`;
    },

    extendOne: (name, owner, ttlMs, fence) => `
      UPDATE ${table} SET until = GREATEST(until, ${now} + 1000 * ${ttlMs}), version = version + 1,
        fence = LAST_INSERT_ID(fence)
      WHERE name = ${literal(name)} AND owner = ${literal(bytesOf(owner))} AND until > ${now} AND sharers IS NULL
        AND fence >= ${fence}`,

    releaseOne: (name, owner) => `
      UPDATE ${table} SET owner = NULL, until = 0, released_at = ${now}, version = version + 1
      WHERE name = ${literal(name)} AND owner = ${literal(bytesOf(owner))} AND until > ${now} AND sharers IS NULL`,

    raise: ({ floor, epoch }) => `
      INSERT INTO ${table} (name, until, fence, epoch) VALUES (${floorName}, 0, ${floor}, ${epoch})
      ON DUPLICATE KEY UPDATE fence = GREATEST(fence, ${floor}), epoch = GREATEST(epoch, ${epoch})`,

    list: (after) => `
      SELECT name FROM ${table} WHERE ${isOfResource} AND name > ${literal(after)} AND owner IS NOT NULL AND until > ${now}
      ORDER BY name LIMIT ${pageSize}`,

    scan: (after) => `
      SELECT name, owner, until, fence, sharers, ${now} FROM ${table}
      WHERE name = ${literal(deletedName)} OR ${isOfResource} AND name > ${literal(after)}
      ORDER BY name LIMIT ${pageSize + 1}`,

    variables: `SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'server_uid', 'hostname', 'port', 'datadir',
      'group_replication_group_name', 'read_only')`,
    clusterState: "SHOW GLOBAL STATUS LIKE 'wsrep_cluster_state_uuid'",

    unused: (unusedForUs) => `
      SELECT name FROM ${table}
      WHERE ${isOfResource} AND GREATEST(until, released_at) < ${now} - ${unusedForUs} ORDER BY name LIMIT ${pageSize}`,

    lockFloor: `SELECT fence FROM ${table} WHERE name = ${floorName} FOR UPDATE`,
    lockUnused: (names, unusedForUs) => `
      SELECT held.name, held.fence FROM (${namesOf(names)}) AS wanted
      STRAIGHT_JOIN ${table} AS held FORCE INDEX (PRIMARY) ON held.name = wanted.name
      STRAIGHT_JOIN ${table} AS guard FORCE INDEX (PRIMARY) ON guard.name = ${guardOf("wanted.name")}
      WHERE GREATEST(held.until, held.released_at) < ${now} - ${unusedForUs} FOR UPDATE SKIP LOCKED`,
    bury: (highest) => `
      INSERT INTO ${table} (name, until, fence, epoch)
      VALUES (${floorName}, 0, ${highest}, 0), (${literal(deletedName)}, 0, ${highest}, NULL)
      ON DUPLICATE KEY UPDATE fence = GREATEST(fence, ${highest})`,

    remove: (names) => `
      DELETE held FROM (${namesOf([...names, ...names.map((name) => Buffer.concat([deletedName, name]))])}) AS wanted
      STRAIGHT_JOIN ${table} AS held FORCE INDEX (PRIMARY) ON held.name = wanted.name`,

    guard: (names) => `
      SELECT CONCAT(guard.fence) FROM (${namesOf(names)}) AS wanted
      STRAIGHT_JOIN ${table} AS guard FORCE INDEX (PRIMARY) ON guard.name = ${guardOf("wanted.name")} LOCK IN SHARE MODE`,

    held: (names, isLocked) => `
      SELECT CONCAT_WS(',', HEX(held.owner), held.until, held.fence, COALESCE(HEX(held.sharers), X''), ${now})
      FROM (${namesOf(names)}) AS wanted
      STRAIGHT_JOIN ${table} AS held FORCE INDEX (PRIMARY) ON held.name = wanted.name
      WHERE held.owner IS NOT NULL ${isLocked ? "LOCK IN SHARE MODE" : ""}`,
  };
}
