import { assertOptions, checkType } from "@holdfast/core/node";
import { digestOf, qualifiedName, quoted } from "./table.ts";

/** A table whose writers must show a fencing token: exactly one of `column`, `name` and `expression` names the lock of a row. */
export interface GuardedTable {
  /** The schema of the table. Default `public`. */
  readonly schema?: string | undefined;
  /** The name of the table. */
  readonly table: string;
  /** The column that has the name of the lock. */
  readonly column?: string | undefined;
  /** The name of one lock for all rows. */
  readonly name?: string | undefined;
  /**
   * An SQL expression over the columns of a row, such as `'invoice:' || id`. It becomes part of the migration as it is, and
   * runs with the rights of the user that runs the migration. Functions outside of `pg_catalog` need their schema.
   */
  readonly expression?: string | undefined;
}

/** The options of {@link createGuard}. */
export interface GuardOptions {
  /** The tables to guard. */
  readonly tables: readonly GuardedTable[];
  /** The answer to a write without a valid token: a warning, or an error. Default `refuse`. */
  readonly mode?: "warn" | "refuse" | undefined;
  /** The schema of the table of tokens, `holdfast_fences`, and of its functions. Default `public`. */
  readonly schema?: string | undefined;
}

/** The options of {@link removeGuard}. */
export interface RemoveGuardOptions {
  /** The tables to guard no longer. Only their names count. */
  readonly tables: readonly GuardedTable[];
}

const modes = ["warn", "refuse"];
const rules = ["column", "name", "expression"] as const;

/**
 * Returns the SQL of a migration: the database then refuses every write to these tables whose transaction has not stated a
 * fencing token by `fenced` or `registerRead`, or an older one than another transaction has registered for the same lock. It
 * can be run again, for example with another mode. Run it in one transaction, as the owner of the tables.
 *
 * @param options see {@link GuardOptions}
 * @throws {TypeError | RangeError} naming the bad option
 *
 * @example
 * ```ts
 * import { createGuard } from "@holdfast/postgres";
 *
 * console.log(createGuard({ tables: [{ table: "invoices", expression: "'invoice:' || id" }], mode: "warn" }));
 * ```
 */
export function createGuard(options: GuardOptions): string {
  assertOptions(options, ["tables", "mode", "schema"], "createGuard");
  const { tables, mode = "refuse", schema = "public" } = options;
  checkType("mode", "string", mode);
  if (!modes.includes(mode)) throw new RangeError(`mode must be "warn" or "refuse", not ${JSON.stringify(mode)}`);
  const guards = checked(tables).flatMap((table) => guardOf(table, mode, schema));
  return [...registryIn(quoted("schema", schema)), ...guards].join(";\n");
}

/**
 * Returns the SQL of a migration that removes what {@link createGuard} has added to these tables. The registered tokens stay.
 *
 * @param options see {@link RemoveGuardOptions}
 * @throws {TypeError | RangeError} naming the bad option
 *
 * @example
 * ```ts
 * import { removeGuard } from "@holdfast/postgres";
 *
 * console.log(removeGuard({ tables: [{ table: "invoices" }] })); // DROP TRIGGER IF EXISTS holdfast_guard ON …
 * ```
 */
export function removeGuard(options: RemoveGuardOptions): string {
  assertOptions(options, ["tables"], "removeGuard");
  const removals = checked(options.tables).flatMap((table) => [
    ...dropTriggers(qualifiedName(table)),
    `DROP FUNCTION IF EXISTS ${triggerFunctionOf(table)}()`,
  ]);
  return removals.join(";\n");
}

function checked(tables: readonly GuardedTable[]): readonly GuardedTable[] {
  if (!Array.isArray(tables) || tables.length === 0) throw new TypeError("tables must be a list of one table or more");
  const names = new Set<string>();
  for (const table of tables) {
    assertOptions(table, ["schema", "table", ...rules], "createGuard");
    checkType("table", "string", (table as Partial<GuardedTable>).table);
    const name = qualifiedName(table);
    if (names.has(name)) throw new RangeError(`tables must have each table once, not ${name} twice`);
    names.add(name);
  }
  return tables;
}

/** A piece of SQL, as a string that no text in it can end. */
function literal(text: string): string {
  if (text.includes("\0")) throw new RangeError("a name or an expression must have no NUL");
  const escaped = text.replaceAll("'", "''");
  return escaped.includes("\\") ? `E'${escaped.replaceAll("\\", "\\\\")}'` : `'${escaped}'`;
}

/** Quotes the body of a function, so that no text in it can end it. */
function body(text: string): string {
  let tag = "$holdfast$";
  while (text.includes(tag)) tag = `$holdfast_${digestOf(tag + text).slice(0, 8)}$`;
  return `${tag}\n${text}\n${tag}`;
}

/** Returns the SQL for the lock of a row, and a description of it. */
function ruleOf(table: GuardedTable): { readonly lockOf: (row: string) => string; readonly described: string } {
  const given = rules.filter((rule) => table[rule] !== undefined);
  const [rule] = given;
  if (rule === undefined || given.length > 1) {
    throw new TypeError(`the table ${table.table} needs one of column, name and expression, not ${given.length}`);
  }
  const text = table[rule] as string;
  checkType(rule, "string", text);
  const constant = literal(text);
  const lockOf = {
    column: (row: string) => `${row}.${quoted("column", text)}::text`,
    name: () => constant,
    // A line comment at the end of the expression must not go on. The plan depends on the table, so that it is made again
    // when the type of a column changes.
    expression: (row: string) => `(SELECT (${text}
)::text FROM (SELECT ${row}.*) AS "row" WHERE NOT EXISTS (SELECT FROM ${qualifiedName(table)} WHERE false))`,
  };
  return { lockOf: lockOf[rule], described: `${rule} ${text}` };
}

/** Functions of a table are in its schema. PostgreSQL would shorten a long name. */
function triggerFunctionOf({ schema, table }: GuardedTable): string {
  const suffix = Buffer.byteLength(table) > 40 ? digestOf(table).slice(0, 16) : table;
  return qualifiedName({ schema, table: `holdfast_guard_${suffix}` });
}

const dropTriggers = (table: string): string[] =>
  ["holdfast_guard", "holdfast_guard_truncate"].map((trigger) => `DROP TRIGGER IF EXISTS ${trigger} ON ${table}`);

/** Runs with the rights of the owner, whatever the writer has put into its search path. */
const asOwner = "SECURITY DEFINER SET search_path = pg_catalog, pg_temp";

/** The triggers see rows after all changes by other triggers, and those that a foreign key changes. */
function guardOf(table: GuardedTable, mode: string, schema: string): string[] {
  const name = qualifiedName(table);
  const fn = triggerFunctionOf(table);
  const { lockOf, described } = ruleOf(table);
  const admit = `PERFORM ${quoted("schema", schema)}.holdfast_admit`;
  return [
    `CREATE OR REPLACE FUNCTION ${fn}() RETURNS trigger LANGUAGE plpgsql ${asOwner} AS ${body(`#variable_conflict use_column
DECLARE
  before text;
  after text;
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    ${admit}(${table.name === undefined ? "NULL" : lockOf("")}, TG_RELID, TG_ARGV[0]);
    RETURN NULL;
  END IF;
  IF TG_OP <> 'INSERT' THEN
    before := ${lockOf("OLD")};
    ${admit}(before, TG_RELID, TG_ARGV[0]);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    after := ${lockOf("NEW")};
    IF TG_OP = 'INSERT' OR after IS DISTINCT FROM before THEN
      ${admit}(after, TG_RELID, TG_ARGV[0]);
    END IF;
  END IF;
  RETURN NULL;
END`)}`,
    `REVOKE ALL ON FUNCTION ${fn}() FROM PUBLIC`,
    ...dropTriggers(name),
    `CREATE TRIGGER holdfast_guard AFTER INSERT OR UPDATE OR DELETE ON ${name}
  FOR EACH ROW EXECUTE FUNCTION ${fn}('${mode}')`,
    `CREATE TRIGGER holdfast_guard_truncate BEFORE TRUNCATE ON ${name}
  FOR EACH STATEMENT EXECUTE FUNCTION ${fn}('${mode}')`,
    `COMMENT ON TRIGGER holdfast_guard ON ${name} IS ${literal(described)}`,
  ];
}

/** The names that a transaction remembers at most. */
const rememberedMax = 100;

/**
 * The table of tokens, and its functions. A row has the newest token that was registered, and the newest of an exclusive lock.
 *
 * Each transaction of an exclusive lock writes the row, even if the token is there already. So they commit in the order of
 * their tokens, and a later one whose snapshot is older than that commit fails: it would read old data. Transactions of readers
 * lock the row, which they share.
 */
function registryIn(schema: string): string[] {
  const functions = [
    `${schema}.holdfast_register(resource text, stated text, shares boolean, relation oid)`,
    `${schema}.holdfast_admit(resource text, relation oid, mode text)`,
    `${schema}.holdfast_register_read(fences text, shares boolean)`,
  ] as const;
  const [register, admit, registerRead] = functions;
  return [
    `CREATE TABLE IF NOT EXISTS ${schema}.holdfast_fences (
  name text COLLATE "C" PRIMARY KEY,
  fence bigint NOT NULL,
  written bigint NOT NULL,
  registered_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70)`,
    `CREATE OR REPLACE FUNCTION ${register} RETURNS void LANGUAGE plpgsql AS ${body(registerBody(schema))}`,
    `CREATE OR REPLACE FUNCTION ${admit} RETURNS void LANGUAGE plpgsql AS ${body(admitBody(schema))}`,
    `CREATE OR REPLACE FUNCTION ${registerRead} RETURNS void LANGUAGE sql ${asOwner} AS ${body(
      `SELECT CASE WHEN shares THEN ${schema}.holdfast_register(resource, fences, true, NULL)
    ELSE ${schema}.holdfast_admit(resource, NULL, 'refuse') END
  FROM (SELECT key AS resource FROM jsonb_each(fences::jsonb) ORDER BY key COLLATE "C") AS sorted`,
    )}`,
    ...functions.map((each) => `REVOKE ALL ON FUNCTION ${each} FROM PUBLIC`),
  ];
}

const registerBody = (schema: string): string => `DECLARE
  what text := coalesce('write to ' || relation::regclass, 'register a read');
  hint text := 'A transaction states its token by: SELECT set_config(''holdfast.fence'', ''{"lock name": token}'', true)';
  tokens jsonb;
  token bigint;
  newest bigint;
BEGIN
  IF resource IS NULL THEN
    RAISE EXCEPTION 'could not %: the lock has no name; each row needs one, and TRUNCATE one for all rows', what
      USING ERRCODE = 'LF405';
  END IF;
  BEGIN
    tokens := nullif(stated, '');
    token := CASE WHEN jsonb_typeof(tokens) <> 'object' THEN '0' ELSE tokens ->> resource END;
  EXCEPTION WHEN data_exception THEN
    token := 0;
  END;
  IF token NOT BETWEEN 1 AND ${Number.MAX_SAFE_INTEGER} THEN
    RAISE EXCEPTION 'could not % of lock %: the fencing token in holdfast.fence is malformed', what, resource
      USING ERRCODE = 'LF400', HINT = hint;
  ELSIF token IS NULL THEN
    RAISE EXCEPTION 'could not % of lock %: the transaction has stated no fencing token for it', what, resource
      USING ERRCODE = 'LF428', HINT = hint;
  END IF;
  -- Refuses at once what is older than a committed token, without waiting for other transactions.
  SELECT CASE WHEN shares THEN written ELSE fence END INTO newest FROM ${schema}.holdfast_fences
    WHERE name = resource COLLATE "C";
  IF newest IS NULL OR newest <= token THEN
    IF shares THEN
      PERFORM FROM ${schema}.holdfast_fences
        WHERE name = resource COLLATE "C" AND token BETWEEN written AND fence FOR SHARE;
    END IF;
    IF NOT (shares AND FOUND) THEN
      INSERT INTO ${schema}.holdfast_fences AS known (name, fence, written)
        VALUES (resource, token, CASE WHEN shares THEN 0 ELSE token END)
        ON CONFLICT (name) DO UPDATE SET fence = greatest(known.fence, token), registered_at = now(),
          written = greatest(known.written, excluded.written)
        WHERE CASE WHEN shares THEN known.written ELSE known.fence END <= token;
    END IF;
    IF FOUND THEN
      RETURN;
    END IF;
    SELECT CASE WHEN shares THEN written ELSE fence END INTO newest FROM ${schema}.holdfast_fences
      WHERE name = resource COLLATE "C";
  END IF;
  RAISE EXCEPTION 'could not % of lock % with fence %: fence % is registered already', what, resource, token, newest
    USING ERRCODE = 'LF409', HINT = 'The lock has passed on: roll back, and lock again.';
END`;

/** Remembers the names that the transaction has registered here (true), or was warned of (false), under the stated tokens. */
const admitBody = (schema: string): string => `DECLARE
  stated text := coalesce(current_setting('holdfast.fence', true), '');
  here text := ${literal(`${schema} `)} || stated;
  memory jsonb := nullif(current_setting('holdfast.admitted', true), '');
  known jsonb := CASE WHEN memory ->> 'here' = here THEN memory -> 'names' ELSE '{}' END;
  is_valid boolean := true;
BEGIN
  IF known -> resource = 'true' OR mode = 'warn' AND known ? resource THEN
    RETURN;
  END IF;
  IF mode = 'refuse' THEN
    PERFORM ${schema}.holdfast_register(resource, stated, false, relation);
  ELSE
    BEGIN
      PERFORM ${schema}.holdfast_register(resource, stated, false, relation);
    EXCEPTION WHEN OTHERS THEN
      is_valid := false;
      RAISE WARNING USING MESSAGE = SQLERRM, ERRCODE = SQLSTATE;
    END;
  END IF;
  IF resource IS NOT NULL THEN
    known := CASE WHEN (SELECT count(*) FROM jsonb_object_keys(known)) < ${rememberedMax} THEN known ELSE '{}' END
      || jsonb_build_object(resource, is_valid);
    PERFORM set_config('holdfast.admitted', jsonb_build_object('here', here, 'names', known)::text, true);
  END IF;
END`;
