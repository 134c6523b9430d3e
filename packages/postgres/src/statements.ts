import { digestOf } from "./table.ts";

/** A statement, with the name under which a connection may keep it prepared. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** The statements over one table. Each is atomic, commits by itself, and returns all values as text. */
export interface Statements {
  /** Claims one resource: name, owner, ttl, hint, takeover, waiter, lock timeout. */
  readonly acquireOne: Statement;
  /** Claims several resources whose rows exist: names, owner, ttl, hint, takeover, waiter, lock timeout, clamps. */
  readonly acquireAll: Statement;
  /** Inserts rows for the names that have none: names. */
  readonly insert: Statement;
  /** Adds a waiter to the lists of the held resources, and removes it from the others: names, takeover, waiter, lock timeout. */
  readonly wait: Statement;
  /** Keeps a claim: names, owner, ttl, fence, lock timeout. */
  readonly extend: Statement;
  /** Ends a claim: names, owner, waiter, undo. */
  readonly release: Statement;
  /** Reads one resource: name. */
  readonly inspect: Statement;
  /** Reads the names of held resources after a name, in order, up to {@link pageSize}: name. */
  readonly list: Statement;
  /** Has releases announced: names. */
  readonly watch: Statement;
  /** Locks the rows of a claim until the end of the transaction: names, owner, fence. */
  readonly holds: Statement;
}

/** The name that no resource has. Its row keeps the highest counter of all rows that were deleted. */
const deleted = "''";

/**
 * The counter with which a new row begins. Includes that of a row of this name, which was deleted meanwhile: above
 * `READ COMMITTED`, a statement that waited for the deletion sees the table as it was before.
 */
const knownFence = (table: string, name: string): string =>
  `coalesce((SELECT max(known.fence) FROM ${table} AS known WHERE known.name IN (${deleted}, ${name})), 0)`;

/** How many names the statement `list` returns. */
export const pageSize = 1_000;

/** How long a waiting list is kept after the last request that renewed it. Waiters try again sooner than that. */
const listTtl = "interval '30 s'";
const listRenewal = "interval '15 s'";

/** How many waiters a list has at most. */
const waitersMax = 1_000;

/** How long releases are announced after a watch was begun or renewed. */
const watchTtl = "interval '60 s'";
const watchRenewal = "interval '35 s'";

/** The hint, limited to a day ahead of the server's clock. */
const clamped = (hint: string, now: string): string =>
  `least(${hint}, (extract(epoch FROM ${now})::float8 * 1000000)::bigint + 86400000000)`;

const after = (now: string, ms: string): string => `${now} + ${ms} * interval '1 ms'`;
const millisecondsUntil = (end: string, now: string): string => `extract(epoch FROM ${end} - ${now})::float8 * 1000`;

// A list is an array of waiters. Each is preceded by the fence counter of the moment when it was added, in 16 digits.
const waiterOf = (entry: string): string => `substr(${entry}, 17)`;
const entryOf = (fence: string, waiter: string): string => `(lpad((${fence})::text, 16, '0') || ${waiter})`;
const without = (list: string, waiter: string): string =>
  `(SELECT array_agg(entry) FROM unnest(${list}) AS entry WHERE ${waiterOf("entry")} IS DISTINCT FROM ${waiter})`;
const firstOf = (list: string): string => `(SELECT ${waiterOf("min(entry)")} FROM unnest(${list}) AS entry)`;
const has = (list: string, waiter: string): string =>
  `EXISTS (SELECT FROM unnest(${list}) AS entry WHERE ${waiterOf("entry")} = ${waiter})`;

/** Sets how long the statement waits for a row that another transaction has locked. Ends with the statement. */
const lockTimeout = (parameter: string): string => `set_config('lock_timeout', ${parameter}, true)`;

/**
 * Returns the statements over a table.
 *
 * A claim locks its row `FOR UPDATE` before it changes the owner. To PostgreSQL, that is like the change of a key. A
 * transaction that has called `holds` has locked the row `FOR KEY SHARE`, so a claim of another owner waits for its end;
 * and `holds` itself re-reads a row that was claimed since its snapshot. Extensions and releases lock rows `FOR NO KEY
 * UPDATE`, which does not conflict. All lock rows in the order of their names, so that no two wait for each other.
 *
 * @param table the qualified, quoted name
 * @param channel the channel of notifications
 */
export function statementsOver(table: string, channel: string): Statements {
  const texts = { ...acquiring(table), ...keeping(table), ...watching(table, channel) };
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

// "clock" counts the locked rows, so that it reads the time when all of them are locked.

const acquiring = (table: string) => ({
  // Returns a row (null, fence) for a grant; (owner, fence, …) for a claim in the way, which may be that of the same
  // owner; no row if another claim arrived at the same time. "name = excluded.name" makes the row lock FOR UPDATE.
  acquireOne: `
    WITH claim AS (
      SELECT owner, fence, until, waiters, waiting_until FROM ${table}
      WHERE name = $1::text AND owner IS NOT NULL AND owner IS DISTINCT FROM $5::text AND until > clock_timestamp()
    ), granted AS (
      INSERT INTO ${table} AS row (name, owner, until, fence)
      SELECT $1::text, $2::text, ${after("clock_timestamp()", "$3::float8")},
        greatest(${clamped("$4::bigint", "clock_timestamp()")},
          1 + ${knownFence(table, "$1::text")})
      FROM ${lockTimeout("$7::text")} WHERE NOT EXISTS (SELECT FROM claim)
      ON CONFLICT (name) DO UPDATE SET name = excluded.name, owner = excluded.owner,
        until = ${after("clock_timestamp()", "$3::float8")}, fence = greatest(row.fence + 1, ${clamped("$4::bigint", "clock_timestamp()")}),
        waiters = CASE WHEN row.waiters IS NOT NULL THEN ${without("row.waiters", "$6::text")} END
      WHERE row.owner IS NULL OR row.until <= clock_timestamp() OR row.owner = $5::text
      RETURNING fence
    )
    SELECT NULL AS owner, fence::text AS fence, NULL AS wait, NULL AS listed FROM granted
    UNION ALL SELECT owner, fence::text, (${millisecondsUntil("until", "clock_timestamp()")})::text,
      (waiting_until > clock_timestamp() + ${listRenewal} AND ${has("waiters", "$6::text")})::text FROM claim`,

  // Returns one row: the verdict, the fence, and the claims in the way.
  acquireAll: `
    WITH rows AS (
      SELECT name, owner, until, fence, CASE WHEN waiting_until > clock_timestamp() THEN waiters END AS list,
        waiting_until > clock_timestamp() + ${listRenewal} AS fresh,
        owner IS NOT NULL AND owner IS DISTINCT FROM $5::text AND until > clock_timestamp() AS claimed
      FROM ${table} WHERE name = ANY ($1::text::text[])
    ), seen AS (
      SELECT count(*) FILTER (WHERE owner = $2::text AND until > clock_timestamp()) AS own, max(fence) AS fence,
        count(*) FILTER (WHERE claimed) AS claims, max(until) FILTER (WHERE claimed) AS until,
        array_agg(name) FILTER (WHERE claimed AND owner <> $2::text) AS held,
        (array_agg(owner ORDER BY until DESC) FILTER (WHERE claimed))[1] AS holder,
        bool_and(CASE WHEN claimed THEN fresh AND ${has("list", "$6::text")} ELSE list IS NULL END) AS listed
      FROM rows
    ), locked AS MATERIALIZED (
      SELECT name, owner, until, fence FROM ${table}
      WHERE name = ANY ($1::text::text[]) AND ${lockTimeout("$7::text")} IS NOT NULL
        AND (SELECT claims = 0 FROM seen)
      ORDER BY name FOR UPDATE
    ), clock AS MATERIALIZED (
      SELECT clock_timestamp() AS now, count(*) AS found, max(fence) AS highest FROM locked
    ), verdict AS MATERIALIZED (
      SELECT now, found, greatest(highest + 1, CASE WHEN $8::boolean THEN ${clamped("$4::bigint", "now")} ELSE $4::bigint END) AS fence,
        (SELECT count(*) FROM locked WHERE until > now AND owner IS NOT NULL AND owner IS DISTINCT FROM $5::text) AS claims
      FROM clock
    ), granted AS (
      UPDATE ${table} AS row SET owner = $2::text, until = ${after("verdict.now", "$3::float8")}, fence = verdict.fence,
        waiters = CASE WHEN row.waiters IS NOT NULL THEN ${without("row.waiters", "$6::text")} END
      FROM verdict WHERE row.name = ANY ($1::text::text[]) AND verdict.claims = 0 AND verdict.found = cardinality($1::text::text[])
      RETURNING row.fence
    )
    SELECT
      CASE WHEN seen.own = cardinality($1::text::text[]) THEN 'resent' WHEN seen.claims > 0 THEN 'denied'
        WHEN verdict.found < cardinality($1::text::text[]) THEN 'missing' WHEN verdict.claims > 0 THEN 'raced'
        ELSE 'granted' END AS verdict,
      coalesce((SELECT max(fence) FROM granted), seen.fence)::text AS fence, seen.holder,
      (${millisecondsUntil("seen.until", "clock_timestamp()")})::text AS wait,
      array_to_json(seen.held)::text AS held, seen.listed::text
    FROM seen, verdict`,

  insert: `
    INSERT INTO ${table} (name, until, fence)
    SELECT name, '-infinity', ${knownFence(table, "wanted.name")}
    FROM unnest($1::text::text[]) AS wanted (name) ORDER BY name COLLATE "C" ON CONFLICT DO NOTHING`,
});

const keeping = (table: string) => ({
  // Returns one row: how many were held, and the highest fence; and how many claims are another owner's.
  extend: `
    WITH locked AS MATERIALIZED (
      SELECT name, owner, until, fence FROM ${table}
      WHERE name = ANY ($1::text::text[]) AND ${lockTimeout("$5::text")} IS NOT NULL ORDER BY name FOR NO KEY UPDATE
    ), clock AS MATERIALIZED (SELECT clock_timestamp() AS now, count(*) AS found FROM locked
    ), verdict AS MATERIALIZED (
      SELECT now, (SELECT count(*) FROM locked WHERE owner = $2::text AND until > now) = cardinality($1::text::text[]) AS held,
        (SELECT count(*) FROM locked WHERE owner <> $2::text AND until > now) AS others
      FROM clock
    ), extended AS (
      UPDATE ${table} AS row SET until = greatest(row.until, ${after("verdict.now", "$3::float8")}),
        fence = greatest(row.fence, $4::bigint)
      FROM verdict WHERE row.name = ANY ($1::text::text[]) AND verdict.held RETURNING row.fence
    )
    SELECT held::text, (SELECT max(fence) FROM extended)::text AS fence, others::text FROM verdict`,

  inspect: `
    SELECT CASE WHEN until > now THEN owner END AS owner,
      CASE WHEN until > now THEN (${millisecondsUntil("until", "now")})::text END AS wait, fence::text
    FROM ${table}, clock_timestamp() AS now WHERE name = $1::text`,

  list: `
    SELECT name FROM ${table}
    WHERE name > $1::text AND owner IS NOT NULL AND until > clock_timestamp() ORDER BY name LIMIT ${pageSize}`,

  holds: `
    SELECT name FROM ${table}
    WHERE name = ANY ($1::text::text[]) AND owner = $2::text AND fence = $3::bigint AND until > clock_timestamp()
    ORDER BY name FOR KEY SHARE`,
});

/** Announces a release to the watchers of this row, and names a waiter. */
const announce = (channel: string, name: string, next: string): string =>
  `pg_notify('${channel}', encode(sha256(convert_to(${name}, 'UTF8')), 'hex') ||
    CASE WHEN octet_length(${next}) <= 7000 THEN ${next} ELSE '' END)`;

const watching = (table: string, channel: string) => ({
  // A row of the result is a freed resource: the waiter that was named, if any.
  release: `
    WITH locked AS MATERIALIZED (
      SELECT name, until, watched_until, waiting_until, waiters FROM ${table}
      WHERE name = ANY ($1::text::text[]) AND owner = $2::text ORDER BY name FOR NO KEY UPDATE
    ), held AS MATERIALIZED (
      SELECT name, CASE WHEN waiting_until > now AND NOT $4::boolean THEN waiters END AS list, watched_until > now AS watched
      FROM locked, clock_timestamp() AS now WHERE until > now
    ), freed AS (
      UPDATE ${table} AS row SET owner = NULL
      FROM held WHERE row.name = held.name AND held.list IS NULL RETURNING held.*, NULL AS next
    ), passed AS (
      UPDATE ${table} AS row SET owner = NULL,
        waiters = ${without("list", firstOf("list"))} ||
          CASE WHEN $3::text IS NOT NULL AND NOT ${has(without("list", firstOf("list")), "$3::text")}
            THEN ARRAY[${entryOf(`1 + (SELECT left(max(entry), 16)::bigint FROM unnest(list) AS entry)`, "$3::text")}] END,
        waiting_until = CASE WHEN $3::text IS NOT NULL THEN clock_timestamp() + ${listTtl} ELSE waiting_until END
      FROM held WHERE row.name = held.name AND held.list IS NOT NULL RETURNING held.*, ${firstOf("held.list")} AS next
    )
    SELECT next, CASE WHEN (watched OR next IS NOT NULL) AND NOT $4::boolean
      THEN ${announce(channel, "name", "coalesce(next, '')")} END::text
    FROM (SELECT * FROM freed UNION ALL SELECT * FROM passed) AS row`,

  // A row of the result is a resource that is still held. Lists of free resources lose the waiter and their first one.
  wait: `
    WITH locked AS MATERIALIZED (
      SELECT name, owner, until, fence, CASE WHEN waiting_until > clock_timestamp() THEN waiters END AS list
      FROM ${table} WHERE name = ANY ($1::text::text[]) AND ${lockTimeout("$4::text")} IS NOT NULL
      ORDER BY name FOR NO KEY UPDATE
    ), clock AS MATERIALIZED (SELECT clock_timestamp() AS now, count(*) AS found FROM locked
    ), rows AS MATERIALIZED (
      SELECT locked.*, now, owner IS NOT NULL AND owner IS DISTINCT FROM $2::text AND until > now AS held,
        ${without("list", "$3::text")} AS rest, ${has("list", "$3::text")} AS listed
      FROM locked, clock
    ), added AS (
      UPDATE ${table} AS row SET waiting_until = rows.now + ${listTtl},
        waiters = CASE WHEN listed OR cardinality(list) >= ${waitersMax} THEN list ELSE list || ${entryOf("rows.fence", "$3::text")} END
      FROM rows WHERE row.name = rows.name AND held RETURNING row.name
    ), removed AS (
      UPDATE ${table} AS row SET waiters = ${without("rest", firstOf("rest"))}
      FROM rows WHERE row.name = rows.name AND NOT held AND list IS NOT NULL RETURNING row.name, ${firstOf("rows.rest")} AS next
    )
    SELECT name FROM added
    UNION ALL SELECT NULL FROM removed WHERE next IS NOT NULL AND ${announce(channel, "name", "next")}::text IS NULL`,

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
