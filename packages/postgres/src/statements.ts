import type { Floor } from "@holdfast/core/node";
import { digestOf } from "./table.ts";

/** A statement, with the name under which a connection may keep it prepared. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** The statements over one table. Each is atomic, commits by itself, and returns all values as text. */
export interface Statements {
  /** Claims one resource alone: name, owner, ttl, hint, takeover, waiter, lock timeout, epoch. */
  readonly acquireOne: Statement;
  /**
   * Claims several whose rows exist: names, owner, ttl, hint, takeover, waiter, lock timeout, whether this is a new claim,
   * epoch. Otherwise the owner rejoins: the hint is its fence, and the floor and the epoch do not count.
   */
  readonly acquireAll: Statement;
  /** Claims resources whose rows exist, to share them: as `acquireAll`. A new claim is denied in favour of waiters. */
  readonly share: Statement;
  /** Inserts rows for the names that have none: names. */
  readonly insert: Statement;
  /** Adds a waiter to the lists of the held resources, and removes it from the others: names, takeover, waiter, lock timeout. */
  readonly wait: Statement;
  /** Keeps a claim: names, owner, ttl, fence, lock timeout, shared. */
  readonly extend: Statement;
  /** Ends a claim: names, owner, waiter, undo. */
  readonly release: Statement;
  /** Reads one resource: name. */
  readonly inspect: Statement;
  /** Reads the names of held resources after a name, in order, up to {@link pageSize}: name. */
  readonly list: Statement;
  /** Returns a text that no other server has. */
  readonly identify: Statement;
  /** Reads the floor and the epoch. */
  readonly floor: Statement;
  /** Reads the counters and claims after a name, in order, up to {@link pageSize} rows: name. */
  readonly scan: Statement;
  /** Asks the table to announce releases: names. */
  readonly watch: Statement;
  /** Locks the rows of a claim until the end of the transaction: names, owner, fence. */
  readonly holds: Statement;
}

/**
 * The row of a name, like a row with `name =`. While vacuum cannot remove the dead versions of a row that changes all the time,
 * this finds the last version first, as it is at the end of the index, and reads no others.
 */
const latest = (table: string, name: string): string =>
  `(SELECT * FROM ${table} WHERE name BETWEEN ${name} AND ${name} ORDER BY name DESC LIMIT 1)`;

/** The name that no resource has. Its row keeps the highest counter of all rows that were deleted. */
const deleted = "''";

/**
 * The counter with which a new row begins. Includes that of a row of this name, which was deleted meanwhile: above
 * `READ COMMITTED`, a statement that waited for the deletion sees the table as it was before.
 */
const knownFence = (table: string, name: string): string =>
  `greatest(${kept(table, deleted)}, (SELECT known.fence FROM ${latest(table, name)} AS known))`;

/**
 * The floor and the epoch of the table are in rows of their own, as fence counters. No resource has such a name: the stored
 * name of a resource does not begin with a tab. The rows have no owner and never end, so no release deletes them as unused.
 */
const floorRow = "E'\\tfloor'";
const epochRow = "E'\\tepoch'";

/** A number that the table keeps in one of these rows. */
const kept = (table: string, row: string): string => `coalesce((SELECT fence FROM ${table} WHERE name = ${row}), 0)`;

/** The floor, and the epoch if it excludes a client of the given one. */
const stage = (table: string, epoch: string): string => `stage AS MATERIALIZED (
      SELECT floor, CASE WHEN epoch > 0 AND abs(${epoch} - epoch) > 1 THEN epoch END AS refusing
      FROM (SELECT ${kept(table, floorRow)} AS floor, ${kept(table, epochRow)} AS epoch) AS stored
    )`;

/** How many rows the statements `list` and `scan` read. */
export const pageSize = 1_000;

/** How long a waiting list is kept after the last request that renewed it. Waiters try again sooner than that. */
const listTtl = "interval '30 s'";
const listRenewal = "interval '15 s'";

/** How many waiters a list has at most. */
const waitersMax = 1_000;

/** How long a denied exclusive waiter keeps further sharers out. It is renewed when half of that has passed. */
const turnTtl = "interval '2 s'";
const turnRenewal = "interval '1 s'";

/** How long releases are announced after a watch was begun or renewed. */
const watchTtl = "interval '60 s'";
const watchRenewal = "interval '35 s'";

const microsecondsOf = (time: string): string => `(extract(epoch FROM ${time})::float8 * 1000000)::bigint`;

/** The hint, limited to a day ahead of the server's clock. */
const clamped = (hint: string, now: string): string => `least(${hint}, ${microsecondsOf(now)} + 86400000000)`;

const after = (now: string, ms: string): string => `${now} + ${ms} * interval '1 ms'`;
const millisecondsUntil = (end: string, now: string): string => `extract(epoch FROM ${end} - ${now})::float8 * 1000`;

// A claim is that of the owner, or of each of the sharers: an object that has, for each owner, an array of the end in
// microseconds, and of the counter at the grant. The row then also names the sharer that lasts longest.
const timeOf = (microseconds: string): string => `to_timestamp(${microseconds} / 1000000.0::float8)`;
const endOf = (sharer: string): string => `(${sharer} ->> 0)::bigint`;

/** Whether any of these sharers is in force. Uses a function: the planner overestimates the cost of a subquery. */
const anyInForce = (sharers: string, now: string): string =>
  `jsonb_path_exists(${sharers}, '$.*[0] ? (@ > $now)', jsonb_build_object('now', ${microsecondsOf(now)}))`;

/** Whether a row is claimed by another owner than the one of a takeover. */
const isClaimed = (row: string, now: string, takeover: string): string =>
  `(${row}.owner IS NOT NULL AND ${row}.until > ${now} AND (${row}.owner IS DISTINCT FROM ${takeover}
    OR ${row}.sharers IS NOT NULL AND ${anyInForce(`(${row}.sharers - ${takeover})`, now)}))`;

/** The end of the claim of $2, if there is one, even if it has passed. */
const ownEnd = (row: string): string =>
  `CASE WHEN ${row}.sharers IS NULL THEN CASE WHEN ${row}.owner = $2::text THEN ${row}.until END
    ELSE ${timeOf(endOf(`(${row}.sharers -> $2::text)`))} END`;

const longestIn = (sharers: string): string =>
  `(SELECT key FROM jsonb_each(${sharers}) ORDER BY ${endOf("value")} DESC LIMIT 1)`;
const endIn = (sharers: string): string => `(SELECT ${timeOf(`max(${endOf("value")})`)} FROM jsonb_each(${sharers}))`;

// A list is an array of waiters. Each is preceded by the fence counter of the moment when it was added, in 16 digits, and
// by its kind: s for a shared request, x for an exclusive one.
const waiterOf = (entry: string): string => `substr(${entry}, 17)`;
const nameOf = (entry: string): string => `substr(${entry}, 18)`;
const isSharer = (entry: string): string => `substr(${entry}, 17, 1) = 's'`;
const entryOf = (fence: string, waiter: string): string => `(lpad((${fence})::text, 16, '0') || ${waiter})`;
const without = (list: string, waiter: string): string =>
  `(SELECT array_agg(entry) FROM unnest(${list}) AS entry WHERE ${waiterOf("entry")} IS DISTINCT FROM ${waiter})`;
const has = (list: string, waiter: string): string =>
  `EXISTS (SELECT FROM unnest(${list}) AS entry WHERE ${waiterOf("entry")} = ${waiter})`;
/** The entries whose turn it is: all sharers, or the first other waiter, which comes first after sharers. */
const firstOf = (list: string, afterSharers: string): string => `(
  SELECT CASE WHEN bool_and(${isSharer("entry")}) OR bool_or(${isSharer("entry")}) AND NOT ${afterSharers}
    THEN array_agg(entry ORDER BY entry) FILTER (WHERE ${isSharer("entry")})
    ELSE ARRAY[min(entry) FILTER (WHERE NOT ${isSharer("entry")})] END FROM unnest(${list}) AS entry)`;
const afterThose = (list: string, named: string): string =>
  `(SELECT array_agg(entry) FROM unnest(${list}) AS entry WHERE entry <> ALL (${named}))`;

/** Sets how long the statement waits for a row that another transaction has locked. Ends with the statement. */
const lockTimeout = (parameter: string): string => `set_config('lock_timeout', ${parameter}, true)`;

/**
 * Returns the statements over a table.
 *
 * A claim locks its row `FOR UPDATE` before it changes the owner. To PostgreSQL, that is like the change of a key. A
 * transaction that has called `holds` has locked the row `FOR KEY SHARE`, so a claim of another owner waits for its end;
 * and `holds` itself re-reads a row that was claimed since its snapshot. Extensions and releases lock rows `FOR NO KEY
 * UPDATE`, which does not conflict. So do sharers that join others: transactions of sharers do not exclude them, and any
 * other claim has ended before the first sharer came.
 *
 * No two statements wait for each other. All lock rows in the order of their names, and then write the rows with `INSERT …
 * ON CONFLICT`, which finds the version of a row that is locked. An `UPDATE` begins with the version that the statement's
 * snapshot shows. While a transaction with `holds` has a lock on that version, the `UPDATE` waits for other statements that
 * do the same, and those wait for the row. For the same reason, no statement locks the same rows twice.
 *
 * @param table the qualified, quoted name
 * @param channel the channel of notifications
 */
export function statementsOver(table: string, channel: string): Statements {
  const texts = { ...acquiring(table), ...keeping(table), ...reading(table), ...watching(table, channel) };
  const named = Object.entries(texts).map(([name, text]) => [
    name,
    // Behind a pooler, clients of different versions and tables share the prepared statements of a connection.
    { name: `holdfast_${name}_${digestOf(text).slice(0, 16)}`, text },
  ]);
  return Object.fromEntries(named);
}

/**
 * Returns a transaction that deletes up to a thousand rows that nobody has claimed for some time, and then returns their
 * number. The table lock waits for statements that have read the counter of deleted rows, and holds up new ones.
 */
export function deletionOf(table: string, unusedForMs: number): string {
  const unused = `SELECT name FROM ${table} WHERE name <> ${deleted} AND (owner IS NULL OR until < now())
    AND until < now() - ${unusedForMs} * interval '1 ms'
    AND coalesce(greatest(waiting_until, watched_until), '-infinity') < now()
    ORDER BY name LIMIT 1000 FOR UPDATE SKIP LOCKED`;
  return `
    SET LOCAL lock_timeout = '200 ms';
    LOCK TABLE ${table} IN SHARE ROW EXCLUSIVE MODE;
    WITH unused AS (${unused}), gone AS (
      DELETE FROM ${table} AS row USING unused WHERE row.name = unused.name RETURNING row.fence
    ), kept AS (
      INSERT INTO ${table} AS row (name, until, fence)
      SELECT ${deleted}, 'infinity', max(fence) FROM gone HAVING count(*) > 0
      ON CONFLICT (name) DO UPDATE SET fence = greatest(row.fence, excluded.fence)
    )
    SELECT count(*)::text FROM gone`;
}

/**
 * Returns a transaction that raises the floor and the epoch, and then returns both. The table lock waits for statements that
 * have read the old values, so none of them takes effect after the transaction. They are on the disk afterwards, even if
 * claims need not be.
 */
export function raiseOf(table: string, { floor, epoch }: Floor, lockTimeoutMs: number): string {
  return `
    SET LOCAL lock_timeout = '${lockTimeoutMs} ms';
    LOCK TABLE ${table} IN SHARE ROW EXCLUSIVE MODE;
    SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off';
    WITH raised AS (
      INSERT INTO ${table} AS row (name, until, fence)
      VALUES (${epochRow}, 'infinity', ${epoch}), (${floorRow}, 'infinity', ${floor})
      ON CONFLICT (name) DO UPDATE SET fence = greatest(row.fence, excluded.fence) RETURNING name, fence
    )
    SELECT max(fence) FILTER (WHERE name = ${floorRow})::text, max(fence) FILTER (WHERE name = ${epochRow})::text
    FROM raised`;
}

// "clock" counts the locked rows, so that it reads the time when all of them are locked.

/** The end of the claim that blocks a request for longest; null if that is the one of a takeover, and others block it. */
const blockedUntil = "CASE WHEN owner IS DISTINCT FROM $5::text THEN until END";

/** Whether an exclusive waiter that is denied by sharers need not keep further ones out for longer. */
const isOnTurn = `(sharers IS NULL OR coalesce(sharers_denied_until > clock_timestamp() + ${turnRenewal}, false))`;

/** Whether a row has a claim that sharing does not allow: an exclusive one, or one that the owner made before. */
const keepsSharerOut = (row: string, now: string): string =>
  `(CASE WHEN ${row}.sharers IS NULL THEN ${isClaimed(row, now, "$5::text")}
    ELSE coalesce($2::text IS DISTINCT FROM $5::text AND ${ownEnd(row)} > ${now}, false) END)`;

/** Whether further sharers are kept out, in favour of an exclusive waiter. */
const favoursOthers = (row: string, now: string): string =>
  `(${row}.sharers IS NOT NULL AND ${row}.until > ${now} AND ${row}.sharers_denied_until > ${now})`;

/** Whether a row has sharers that stay. */
const joins = (row: string, now: string): string =>
  `(${row}.sharers IS NOT NULL AND ${anyInForce(`(${row}.sharers - $2::text - coalesce($5::text, ''))`, now)})`;

/** The rows as they were, with an owner where the request is blocked. */
const seen = `seen AS (
      SELECT count(*) FILTER (WHERE own) AS own, max(fence) AS fence,
        count(owner) AS claims, max(until) AS until, array_agg(name) FILTER (WHERE owner <> $2::text) AS held,
        (array_agg(owner ORDER BY until DESC) FILTER (WHERE owner <> ''))[1] AS holder,
        bool_and(CASE WHEN claimed THEN coalesce(fresh, false) AND ${has("list", "$6::text")} ELSE list IS NULL END) AS listed
      FROM rows
    )`;

const isolation = "current_setting('transaction_isolation')";

const verdicts = `SELECT
      CASE WHEN refusing IS NOT NULL THEN 'refused' WHEN seen.own = cardinality($1::text::text[]) THEN 'resent' WHEN seen.claims > 0 THEN 'denied'
        WHEN verdict.found < cardinality($1::text::text[]) THEN 'missing' WHEN verdict.claims > 0 THEN 'raced'
        ELSE 'granted' END AS verdict,
      coalesce((SELECT max(fence) FROM granted), seen.fence)::text AS fence, seen.holder,
      (${millisecondsUntil("seen.until", "clock_timestamp()")})::text AS wait,
      array_to_json(seen.held)::text AS held, seen.listed::text, refusing::text, ${isolation}
    FROM seen, verdict, stage`;

/** The counter of a claim that joins no sharers on one of its resources, or more. */
const fenceOfNewClaim = `greatest(highest + 1, CASE WHEN $8::boolean
          THEN greatest(${clamped("$4::bigint", "now")}, 1 + floor) ELSE $4::bigint END)`;

/** The floor and the epoch for a new claim. A claim that rejoins is served as the claim that it was. */
const stageUnlessRejoining = (table: string): string => stage(table, "CASE WHEN $8::boolean THEN $9::bigint END");

/** Replaces the claims of a row by those of sharers. */
const sharedClaim = `owner = excluded.owner, until = excluded.until, fence = excluded.fence, sharers = excluded.sharers,
        waiters = CASE WHEN row.waiters IS NOT NULL THEN ${without("row.waiters", "$6::text")} END`;

const acquiring = (table: string) => ({
  // Returns a row (null, fence) for a grant; (owner, fence, …) for a claim that blocks, which may be that of the same
  // owner; no row if another claim arrived at the same time; and a row that ends with the epoch if it refuses the client.
  // "name = excluded.name" makes the row lock FOR UPDATE.
  acquireOne: `
    WITH ${stage(table, "$8::bigint")}, claim AS (
      SELECT * FROM ${latest(table, "$1::text")} AS row WHERE ${isClaimed("row", "clock_timestamp()", "$5::text")}
        AND (SELECT refusing IS NULL FROM stage)
    ), granted AS (
      INSERT INTO ${table} AS row (name, owner, until, fence)
      SELECT $1::text, $2::text, ${after("clock_timestamp()", "$3::float8")},
        greatest(${clamped("$4::bigint", "clock_timestamp()")},
          1 + greatest(${knownFence(table, "$1::text")}, floor))
      FROM ${lockTimeout("$7::text")}, stage WHERE NOT EXISTS (SELECT FROM claim) AND refusing IS NULL
      ON CONFLICT (name) DO UPDATE SET name = excluded.name, owner = excluded.owner,
        until = ${after("clock_timestamp()", "$3::float8")}, 
        fence = greatest(row.fence + 1, ${clamped("$4::bigint", "clock_timestamp()")}, 1 + (SELECT floor FROM stage)),
        waiters = CASE WHEN row.waiters IS NOT NULL THEN ${without("row.waiters", "$6::text")} END,
        sharers = NULL, sharers_denied_until = NULL
      WHERE NOT ${isClaimed("row", "clock_timestamp()", "$5::text")}
      RETURNING fence
    )
    SELECT NULL AS owner, fence::text AS fence, NULL AS wait, NULL AS listed, NULL AS is_shared, NULL AS refusing,
      ${isolation} FROM granted
    UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, refusing::text, NULL FROM stage WHERE refusing IS NOT NULL
    UNION ALL SELECT coalesce(nullif(owner, $5::text), ''), fence::text, (${millisecondsUntil(blockedUntil, "clock_timestamp()")})::text,
      (waiting_until > clock_timestamp() + ${listRenewal} AND ${has("waiters", "$6::text")} AND ${isOnTurn})::text,
      (sharers IS NOT NULL)::text, NULL, NULL FROM claim`,

  // Returns one row: the verdict, the fence, and the claims that block it.
  acquireAll: `
    WITH ${stageUnlessRejoining(table)}, rows AS (
      SELECT name, fence, sharers IS NULL AND owner = $2::text AND until > clock_timestamp() AS own, claimed,
        CASE WHEN claimed THEN coalesce(nullif(owner, $5::text), '') END AS owner, CASE WHEN claimed THEN ${blockedUntil} END AS until,
        CASE WHEN waiting_until > clock_timestamp() THEN waiters END AS list,
        waiting_until > clock_timestamp() + ${listRenewal} AND ${isOnTurn} AS fresh
      FROM ${table} AS row, LATERAL (SELECT ${isClaimed("row", "clock_timestamp()", "$5::text")} AS claimed) AS judged
      WHERE name = ANY ($1::text::text[])
    ), ${seen}, locked AS MATERIALIZED (
      SELECT name, owner, until, fence, sharers FROM ${table}
      WHERE name = ANY ($1::text::text[]) AND ${lockTimeout("$7::text")} IS NOT NULL
        AND (SELECT claims = 0 AND refusing IS NULL FROM seen, stage)
      ORDER BY name FOR UPDATE
    ), clock AS MATERIALIZED (
      SELECT clock_timestamp() AS now, count(*) AS found, max(fence) AS highest FROM locked
    ), verdict AS MATERIALIZED (
      SELECT now, found, ${fenceOfNewClaim} AS fence,
        (SELECT count(*) FROM locked WHERE ${isClaimed("locked", "now", "$5::text")}) AS claims
      FROM clock, stage
    ), granted AS (
      INSERT INTO ${table} AS row (name, owner, until, fence)
      SELECT name, $2::text, ${after("verdict.now", "$3::float8")}, verdict.fence FROM locked, verdict
      WHERE verdict.claims = 0 AND verdict.found = cardinality($1::text::text[])
      ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until, fence = excluded.fence,
        waiters = CASE WHEN row.waiters IS NOT NULL THEN ${without("row.waiters", "$6::text")} END,
        sharers = NULL, sharers_denied_until = NULL
      RETURNING row.fence
    )
    ${verdicts}`,

  // The same for a request that shares. It locks the rows against other claims, and writes those whose sharers it does not
  // join as if it changed their key: that waits for transactions.
  share: `
    WITH ${stageUnlessRejoining(table)}, rows AS (
      SELECT name, fence, ${ownEnd("row")} > clock_timestamp() AS own, is_held AS claimed,
        CASE WHEN blocks AND sharers IS NOT NULL THEN $2::text WHEN blocks OR favours THEN owner END AS owner,
        CASE WHEN blocks AND sharers IS NOT NULL THEN ${ownEnd("row")} WHEN blocks THEN until WHEN favours THEN sharers_denied_until END AS until,
        CASE WHEN waiting_until > clock_timestamp() THEN waiters END AS list,
        waiting_until > clock_timestamp() + ${listRenewal} AS fresh
      FROM ${table} AS row, LATERAL (
        SELECT ${isClaimed("row", "clock_timestamp()", "$5::text")} AS is_held, ${keepsSharerOut("row", "clock_timestamp()")} AS blocks,
          $8::boolean AND ${favoursOthers("row", "clock_timestamp()")} AS favours
      ) AS judged
      WHERE name = ANY ($1::text::text[])
    ), ${seen}, locked AS MATERIALIZED (
      SELECT name, owner, until, fence, sharers FROM ${table}
      WHERE name = ANY ($1::text::text[]) AND ${lockTimeout("$7::text")} IS NOT NULL
        AND (SELECT claims = 0 AND refusing IS NULL FROM seen, stage)
      ORDER BY name FOR NO KEY UPDATE
    ), clock AS MATERIALIZED (
      SELECT clock_timestamp() AS now, count(*) AS found, max(fence) AS highest FROM locked
    ), states AS MATERIALIZED (
      SELECT name, joins, ${keepsSharerOut("locked", "now")} AS claimed,
        (SELECT jsonb_object_agg(key, value) FROM jsonb_each(sharers - $2::text - coalesce($5::text, ''))
          WHERE ${endOf("value")} > ${microsecondsOf("now")}) AS others
      FROM locked, clock, LATERAL (SELECT ${joins("locked", "now")} AS joins) AS judged
    ), verdict AS MATERIALIZED (
      SELECT now, found, ${after("now", "$3::float8")} AS ends, (SELECT count(*) FROM states WHERE claimed) AS claims,
        CASE WHEN (SELECT bool_and(joins) FROM states)
          THEN greatest(highest, CASE WHEN $8::boolean THEN floor ELSE $4::bigint END) ELSE ${fenceOfNewClaim} END AS fence
      FROM clock, stage
    ), granted AS MATERIALIZED (
      SELECT name, joins, CASE WHEN ${endIn("others")} > ends THEN ${longestIn("others")} ELSE $2::text END AS owner,
        greatest(${endIn("others")}, ends) AS until, fence,
        coalesce(others, '{}') || jsonb_build_object($2::text, jsonb_build_array(${microsecondsOf("ends")}, fence)) AS sharers
      FROM verdict, states WHERE verdict.claims = 0 AND verdict.found = cardinality($1::text::text[])
    ), joining AS (
      INSERT INTO ${table} AS row (name, owner, until, fence, sharers)
      SELECT name, owner, until, fence, sharers FROM granted WHERE joins
      ON CONFLICT (name) DO UPDATE SET ${sharedClaim}
    ), beginning AS (
      INSERT INTO ${table} AS row (name, owner, until, fence, sharers)
      SELECT name, owner, until, fence, sharers FROM granted WHERE NOT joins ORDER BY name
      ON CONFLICT (name) DO UPDATE SET name = excluded.name, ${sharedClaim}
    )
    ${verdicts}`,

  insert: `
    INSERT INTO ${table} (name, until, fence)
    SELECT name, '-infinity', ${knownFence(table, "wanted.name")}
    FROM unnest($1::text::text[]) AS wanted (name) ORDER BY name COLLATE "C" ON CONFLICT DO NOTHING`,
});

const keeping = (table: string) => ({
  // Returns one row: whether all were held, the highest fence, and an owner that keeps this one out.
  extend: `
    WITH locked AS MATERIALIZED (
      SELECT name, owner, until, fence, sharers FROM ${table}
      WHERE name = ANY ($1::text::text[]) AND ${lockTimeout("$5::text")} IS NOT NULL ORDER BY name FOR NO KEY UPDATE
    ), clock AS MATERIALIZED (SELECT clock_timestamp() AS now, count(*) AS found FROM locked
    ), verdict AS MATERIALIZED (
      SELECT ${after("now", "$3::float8")} AS ends,
        (SELECT count(*) FROM locked WHERE ${ownEnd("locked")} > now) = cardinality($1::text::text[]) AS held,
        (SELECT max(owner) FROM locked
          WHERE NOT (sharers IS NOT NULL AND $6::boolean) AND ${isClaimed("locked", "now", "$2::text")}) AS holder
      FROM clock
    ), extended AS (
      INSERT INTO ${table} AS row (name, owner, until, fence)
      SELECT name, $2::text, verdict.ends, $4::bigint FROM locked, verdict WHERE verdict.held
      ON CONFLICT (name) DO UPDATE SET until = greatest(row.until, excluded.until), fence = greatest(row.fence, excluded.fence),
        owner = CASE WHEN excluded.until > row.until THEN excluded.owner ELSE row.owner END,
        sharers = jsonb_set(row.sharers, ARRAY[$2::text, '0'],
          to_jsonb(greatest(${endOf("(row.sharers -> $2::text)")}, ${microsecondsOf("excluded.until")})))
      RETURNING row.fence
    )
    SELECT held::text, (SELECT max(fence) FROM extended)::text AS fence, holder FROM verdict`,

  holds: `
    SELECT name FROM ${table} AS row
    WHERE name = ANY ($1::text::text[]) AND ${ownEnd("row")} > clock_timestamp() AND
      CASE WHEN sharers IS NULL THEN fence = $3::bigint
        ELSE $3::bigint BETWEEN (sharers -> $2::text ->> 1)::bigint AND fence END
    ORDER BY name FOR KEY SHARE`,
});

const reading = (table: string) => ({
  inspect: `
    SELECT CASE WHEN until > now THEN owner END AS owner,
      CASE WHEN until > now THEN (${millisecondsUntil("until", "now")})::text END AS wait, fence::text,
      (SELECT json_agg(json_build_array(key, ${millisecondsUntil(timeOf(endOf("value")), "now")}) ORDER BY ${endOf("value")} DESC)
        FROM jsonb_each(sharers) WHERE ${timeOf(endOf("value"))} > now)::text AS sharers,
      ${kept(table, floorRow)}::text AS floor, pg_is_in_recovery()::text AS standby
    FROM clock_timestamp() AS now LEFT JOIN ${table} AS row ON name = $1::text`,

  list: `
    SELECT name FROM ${table}
    WHERE name > $1::text AND owner IS NOT NULL AND until > clock_timestamp() ORDER BY name LIMIT ${pageSize}`,

  // Clones of a server have its identifier.
  identify: `
    SELECT format('system_identifier %s, started at %s', system_identifier, extract(epoch FROM pg_postmaster_start_time()))
    FROM pg_control_system()`,

  floor: `SELECT ${kept(table, floorRow)}::text, ${kept(table, epochRow)}::text, pg_is_in_recovery()::text`,

  // Returns one row: how many counters, the highest of them, the name to go on after, and the claims. Each portion counts the
  // highest counter of deleted rows, because a row may be deleted before its portion is read.
  scan: `
    WITH portion AS MATERIALIZED (
      (SELECT name, owner, until, fence, sharers FROM ${table}
        WHERE name > $1::text AND name NOT IN (${floorRow}, ${epochRow}) ORDER BY name LIMIT ${pageSize})
      UNION ALL SELECT name, owner, until, fence, sharers FROM ${table} WHERE name = ${deleted}
    ), claims AS (
      SELECT name, owner, until FROM portion WHERE owner IS NOT NULL AND sharers IS NULL
      UNION ALL SELECT name, key, ${timeOf(endOf("value"))} FROM portion, jsonb_each(sharers)
    )
    SELECT count(*) FILTER (WHERE fence > 0)::text, max(fence)::text,
      CASE WHEN count(*) FILTER (WHERE name <> ${deleted}) = ${pageSize} THEN max(name) END,
      (SELECT json_agg(json_build_array(name, owner, ${millisecondsUntil("until", "now")}))
        FROM claims, clock_timestamp() AS now WHERE until > now)::text,
      pg_is_in_recovery()::text
    FROM portion`,
});

/** Announces a release to the watchers of this row, and names a waiter. */
const announce = (channel: string, name: string, next: string): string =>
  `pg_notify('${channel}', encode(sha256(convert_to(${name}, 'UTF8')), 'hex') ||
    CASE WHEN octet_length(${next}) <= 7000 THEN ${next} ELSE '' END)`;

const watching = (table: string, channel: string) => ({
  // A row of the result is a resource that the owner held, and a waiter that was named, if any.
  release: `
    WITH locked AS MATERIALIZED (
      SELECT name, owner, until, fence, watched_until, waiting_until, waiters, sharers FROM ${table}
      WHERE name = ANY ($1::text::text[]) AND (owner = $2::text OR sharers -> $2::text IS NOT NULL)
      ORDER BY name FOR NO KEY UPDATE
    ), held AS MATERIALIZED (
      SELECT name, until, fence, left_over, sharers IS NOT NULL AS was_shared,
        CASE WHEN waiting_until > now AND NOT $4::boolean AND left_over IS NULL THEN waiters END AS list,
        watched_until > now AND NOT $4::boolean AND left_over IS NULL AS watched
      FROM locked, clock_timestamp() AS now, LATERAL (
        SELECT CASE WHEN sharers IS NOT NULL AND ${anyInForce("(sharers - $2::text)", "now")} THEN sharers - $2::text END AS left_over
      ) AS rest
      WHERE ${ownEnd("locked")} > now
    ), freed AS (
      INSERT INTO ${table} AS row (name, owner, until, fence, sharers)
      SELECT name, CASE WHEN left_over IS NOT NULL THEN ${longestIn("left_over")} END,
        CASE WHEN left_over IS NOT NULL THEN ${endIn("left_over")} ELSE until END, fence, left_over
      FROM held WHERE list IS NULL
      ON CONFLICT (name) DO UPDATE SET sharers = excluded.sharers, owner = excluded.owner, until = excluded.until
    ), turns AS MATERIALIZED (
      SELECT name, until, fence, list, watched, ${firstOf("list", "was_shared")} AS named FROM held WHERE list IS NOT NULL
    ), passed AS (
      INSERT INTO ${table} AS row (name, until, fence, waiters)
      SELECT name, until, fence, ${afterThose("list", "named")} ||
          CASE WHEN $3::text IS NOT NULL AND NOT ${has(afterThose("list", "named"), "$3::text")}
            THEN ARRAY[${entryOf(`1 + (SELECT left(max(entry), 16)::bigint FROM unnest(list) AS entry)`, "$3::text")}] END
      FROM turns
      ON CONFLICT (name) DO UPDATE SET owner = NULL, sharers = NULL, waiters = excluded.waiters,
        waiting_until = CASE WHEN $3::text IS NOT NULL THEN clock_timestamp() + ${listTtl} ELSE row.waiting_until END
    )
    SELECT ${nameOf("entry")} AS next, CASE WHEN watched OR entry IS NOT NULL
      THEN ${announce(channel, "name", `coalesce(${nameOf("entry")}, '')`)} END::text
    FROM (SELECT name, watched, NULL::text[] AS named FROM held WHERE list IS NULL
      UNION ALL SELECT name, watched, named FROM turns) AS row LEFT JOIN LATERAL unnest(named) AS entry ON true`,

  // A row of the result is a resource that still keeps the waiter out. Lists of free resources lose the waiter and their
  // first one.
  wait: `
    WITH locked AS MATERIALIZED (
      SELECT name, owner, until, fence, sharers, sharers_denied_until,
        CASE WHEN waiting_until > clock_timestamp() THEN waiters END AS list
      FROM ${table} WHERE name = ANY ($1::text::text[]) AND ${lockTimeout("$4::text")} IS NOT NULL
      ORDER BY name FOR NO KEY UPDATE
    ), clock AS MATERIALIZED (SELECT clock_timestamp() AS now, count(*) AS found FROM locked
    ), rows AS MATERIALIZED (
      SELECT name, until, fence, sharers_denied_until, list, now, sharers IS NOT NULL AS is_shared, ${isClaimed("locked", "now", "$2::text")} AS held,
        left($3::text, 1) = 's' AND ${favoursOthers("locked", "now")} AS favours,
        ${without("list", "$3::text")} AS rest, ${has("list", "$3::text")} AS listed
      FROM locked, clock
    ), added AS (
      INSERT INTO ${table} AS row (name, until, fence, waiters, waiting_until, sharers_denied_until)
      SELECT name, until, fence,
        CASE WHEN listed OR cardinality(list) >= ${waitersMax} THEN list ELSE list || ${entryOf("fence", "$3::text")} END,
        now + ${listTtl}, CASE WHEN is_shared AND left($3::text, 1) = 'x' THEN now + ${turnTtl} ELSE sharers_denied_until END
      FROM rows WHERE held
      ON CONFLICT (name) DO UPDATE SET waiters = excluded.waiters, waiting_until = excluded.waiting_until,
        sharers_denied_until = excluded.sharers_denied_until
    ), turns AS MATERIALIZED (
      SELECT name, until, fence, rest, ${firstOf("rest", "false")} AS named FROM rows WHERE NOT held AND list IS NOT NULL
    ), removed AS (
      INSERT INTO ${table} AS row (name, until, fence, waiters)
      SELECT name, until, fence, ${afterThose("rest", "named")} FROM turns
      ON CONFLICT (name) DO UPDATE SET waiters = excluded.waiters
    )
    SELECT name FROM rows WHERE held OR favours
    UNION ALL SELECT NULL FROM turns, unnest(named) AS entry
      WHERE entry IS NOT NULL AND ${announce(channel, "name", nameOf("entry"))}::text IS NULL`,

  watch: `
    INSERT INTO ${table} AS row (name, until, fence, watched_until)
    SELECT name, '-infinity', ${knownFence(table, "wanted.name")}, clock_timestamp() + ${watchTtl}
    FROM unnest($1::text::text[]) AS wanted (name)
    WHERE name NOT IN (
      SELECT name FROM ${table} WHERE name = ANY ($1::text::text[]) AND watched_until > clock_timestamp() + ${watchRenewal}
    )
    ORDER BY name COLLATE "C"
    ON CONFLICT (name) DO UPDATE SET watched_until = excluded.watched_until`,
});
