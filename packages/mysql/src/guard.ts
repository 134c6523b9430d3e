import { assertOptions, checkType } from "@holdfast/core/node";
import { digestOf, nameOf, qualifiedName, storedNameMax, textLiteral } from "./table.ts";

/** A table whose writers must show a fencing token: exactly one of `column`, `name` and `expression` names the lock of a row. */
export interface GuardedTable {
  /** The database of the table. Default: that of the connection. */
  readonly database?: string | undefined;
  /** The name of the table. */
  readonly table: string;
  /** The column that has the name of the lock. */
  readonly column?: string | undefined;
  /** The name of one lock for all rows. */
  readonly name?: string | undefined;
  /**
   * An SQL expression in which `{row}` stands for the row, such as `CONCAT('invoice:', {row}.id)`. It becomes part of the
   * migration as it is, and runs with the rights of the user that runs the migration.
   */
  readonly expression?: string | undefined;
}

/** The options of {@link createGuard}. */
export interface GuardOptions {
  /** The tables to guard. They use InnoDB. */
  readonly tables: readonly GuardedTable[];
  /** The answer to a write without a valid token: a row in `holdfast_warnings`, or an error. Default `refuse`. */
  readonly mode?: "warn" | "refuse" | undefined;
  /**
   * The database of the table of tokens, `holdfast_fences`, and of its procedures. Default: that of the connection; needed
   * if a table names one.
   */
  readonly database?: string | undefined;
}

/** The options of {@link removeGuard}. */
export interface RemoveGuardOptions {
  /** The tables to guard no longer. Only their names count. */
  readonly tables: readonly GuardedTable[];
}

const modes = ["warn", "refuse"];
const rules = ["column", "name", "expression"] as const;
const events = ["INSERT", "UPDATE", "DELETE"] as const;

/**
 * Returns the statements of a migration: the database then refuses every write to these tables whose transaction has not
 * stated a fencing token by `fenced`, or an older one than another transaction has registered for the same lock. Send them one
 * by one, in this order. The migration can be run again, for example with another mode.
 *
 * @param options see {@link GuardOptions}
 * @throws {TypeError | RangeError} naming the bad option
 *
 * @example
 * ```ts
 * import { createGuard } from "@holdfast/mysql";
 *
 * const tables = [{ table: "invoices", expression: "CONCAT('invoice:', {row}.id)" }];
 * for (const statement of createGuard({ tables, mode: "warn" })) console.log(statement);
 * ```
 */
export function createGuard(options: GuardOptions): readonly string[] {
  assertOptions(options, ["tables", "mode", "database"], "createGuard");
  const { tables, mode = "refuse", database } = options;
  checkType("mode", "string", mode);
  if (!modes.includes(mode)) throw new RangeError(`mode must be "warn" or "refuse", not ${JSON.stringify(mode)}`);
  const guards = checked(tables).flatMap((table) => {
    // In a trigger, a name without a database means the database of its table.
    if (table.database !== undefined) checkType("database", "string", database);
    return guardOf(table, mode === "warn", registryNames(database).admit);
  });
  return [...registryIn(database), ...guards];
}

/**
 * Returns the statements of a migration that removes the triggers of {@link createGuard} from these tables. The registered
 * tokens stay.
 *
 * @param options see {@link RemoveGuardOptions}
 * @throws {TypeError | RangeError} naming the bad option
 *
 * @example
 * ```ts
 * import { removeGuard } from "@holdfast/mysql";
 *
 * console.log(removeGuard({ tables: [{ table: "invoices" }] })); // [ "DROP TRIGGER IF EXISTS …", …
 * ```
 */
export function removeGuard(options: RemoveGuardOptions): readonly string[] {
  assertOptions(options, ["tables"], "removeGuard");
  return checked(options.tables).flatMap((table) =>
    events.flatMap((event) => [true, false].map((isNext) => dropTrigger(triggerOf(table, event, isNext)))),
  );
}

function checked(tables: readonly GuardedTable[]): readonly GuardedTable[] {
  if (!Array.isArray(tables) || tables.length === 0) throw new TypeError("tables must be a list of one table or more");
  const names = new Set<string>();
  for (const table of tables) {
    assertOptions(table, ["database", "table", ...rules], "createGuard");
    checkType("table", "string", (table as Partial<GuardedTable>).table);
    const name = qualifiedName(table);
    if (names.has(name)) throw new RangeError(`tables must have each table once, not ${name} twice`);
    names.add(name);
  }
  return tables;
}

/** Returns the SQL for the lock of a row, `OLD` or `NEW`. */
function lockOf(table: GuardedTable): (row: "OLD" | "NEW") => string {
  const given = rules.filter((rule) => table[rule] !== undefined);
  const [rule] = given;
  if (rule === undefined || given.length > 1) {
    throw new TypeError(`the table ${table.table} needs one of column, name and expression, not ${given.length}`);
  }
  const text = table[rule] as string;
  checkType(rule, "string", text);
  if (rule === "name") return () => textLiteral(text);
  if (rule === "column") return (row) => `CONVERT(${row}.${nameOf("column", text)} USING utf8mb4)`;
  if (!text.includes("{row}")) throw new RangeError("expression must name columns as {row}.column");
  // A line comment at the end of the expression must not go on.
  return (row) => `CONVERT((${text.replaceAll("{row}", row)}\n) USING utf8mb4)`;
}

/** Triggers are in the database of their table. MySQL takes names for the same that differ in case or in accents only. */
function triggerOf({ database, table }: GuardedTable, event: string, isNext: boolean): string {
  const own = /^[a-z0-9_]{1,30}$/.test(table) ? table : digestOf(table).slice(0, 16);
  return qualifiedName({ database, table: `holdfast_guard_${own}_${event.toLowerCase()}${isNext ? "_next" : ""}` });
}

const dropTrigger = (trigger: string): string => `DROP TRIGGER IF EXISTS ${trigger}`;

/**
 * The triggers see rows after all changes by triggers before the row. A trigger cannot be replaced: a second one guards the
 * table meanwhile.
 */
function guardOf(table: GuardedTable, warns: boolean, admit: string): string[] {
  const lock = lockOf(table);
  const [before, after] = [lock("OLD"), lock("NEW")];
  const shown = textLiteral(table.table.length > 20 ? `${table.table.slice(0, 17)}...` : table.table);
  const call = (of: string): string => `CALL ${admit}(${of}, ${shown}, ${warns});`;
  const bodies = {
    INSERT: call(after),
    UPDATE: `${call(before)}
  IF NOT (CAST(${before} AS BINARY) <=> CAST(${after} AS BINARY)) THEN
    ${call(after)}
  END IF;`,
    DELETE: call(before),
  };
  return events.flatMap((event) => {
    const replace = (isNext: boolean): string[] => {
      const trigger = triggerOf(table, event, isNext);
      const create = `CREATE TRIGGER ${trigger} AFTER ${event} ON ${qualifiedName(table)} FOR EACH ROW`;
      return [dropTrigger(trigger), `${create}\nBEGIN\n  ${bodies[event]}\nEND`];
    };
    return [...replace(true), ...replace(false), dropTrigger(triggerOf(table, event, true))];
  });
}

type RegistryPart = "fences" | "warnings" | "refuse" | "admit" | "registerRead";

/** Returns the quoted names of the tables and the procedures of the registry. */
export function registryNames(database: string | undefined): Readonly<Record<RegistryPart, string>> {
  const named = (table: string): string => qualifiedName({ database, table });
  return {
    fences: named("holdfast_fences"),
    warnings: named("holdfast_warnings"),
    refuse: named("holdfast_refuse"),
    admit: named("holdfast_admit"),
    registerRead: named("holdfast_register_read"),
  };
}

/**
 * The table of tokens, and its procedures. A row has the newest token that was registered, the newest of an exclusive lock,
 * and a version.
 *
 * Each write under an exclusive lock changes the row and so its version, even if the token is there already. So these
 * transactions commit in the order of their tokens, members of a cluster certify one of two, and `registerRead` can tell
 * whether the snapshot of its transaction is older than the last write.
 */
function registryIn(database: string | undefined): string[] {
  const { fences, warnings, refuse, admit, registerRead } = registryNames(database);
  const procedure = (name: string, parameters: string, body: string): string[] => [
    `DROP PROCEDURE IF EXISTS ${name}`,
    `CREATE PROCEDURE ${name}(${parameters}) MODIFIES SQL DATA\nBEGIN\n${body}\nEND`,
  ];
  return [
    `CREATE TABLE IF NOT EXISTS ${fences} (
  name VARBINARY(${storedNameMax}) NOT NULL PRIMARY KEY,
  fence BIGINT NOT NULL,
  written BIGINT NOT NULL,
  version BIGINT NOT NULL,
  registered_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
    `CREATE TABLE IF NOT EXISTS ${warnings} (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  warned_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
  state CHAR(5) NOT NULL,
  message VARCHAR(${messageMax}) NOT NULL,
  client TEXT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4`,
    ...procedure(
      refuse,
      `state CHAR(5), what ${text}, resource ${text}, cause ${text}, warns BOOLEAN`,
      refuseBody(warnings),
    ),
    ...procedure(admit, `resource ${text}, relation ${text}, warns BOOLEAN`, admitBody(fences, refuse)),
    ...procedure(registerRead, `names ${text}, token BIGINT, shares BOOLEAN`, registerReadBody(fences, refuse)),
  ];
}

/** The longest message of a `SIGNAL`. */
const messageMax = 128;

/** The type of texts: no name equals another one by a collation. */
const text = "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";

const unnamed = `resource IS NULL OR LENGTH(resource) > ${storedNameMax}`;
const unnamedCause = `': each row needs a name of up to ${storedNameMax} bytes'`;
const newerCause = "CONCAT(' with fence ', token, ': fence ', newest, ' is registered')";

/** Cuts the name of the lock if the message is too long. Warns once in a statement, for the same reason. */
const refuseBody = (
  warnings: string,
): string => `  DECLARE head ${text} DEFAULT CONCAT('could not ', what, ' of lock ');
  DECLARE room INT DEFAULT ${messageMax} - CHAR_LENGTH(head) - CHAR_LENGTH(cause);
  DECLARE reason ${text};
  SET resource = COALESCE(resource, 'NULL');
  SET resource = IF(CHAR_LENGTH(resource) > room, CONCAT(LEFT(resource, room - 3), '...'), resource);
  SET reason = CONCAT(head, resource, cause);
  IF warns THEN
    IF NOT (CAST(CONCAT(NOW(6), reason) AS BINARY) <=> @holdfast_warned) THEN
      INSERT INTO ${warnings} (state, message, client) VALUES (state, reason, USER());
      SET @holdfast_warned = CAST(CONCAT(NOW(6), reason) AS BINARY);
    END IF;
  ELSE
    CASE state
${["LF400", "LF405", "LF409", "LF428", "40001"]
  .map((state) => `      WHEN '${state}' THEN SIGNAL SQLSTATE '${state}' SET MESSAGE_TEXT = reason;`)
  .join("\n")}
    END CASE;
  END IF;`;

/** Only locking statements: others would read from a snapshot, or, with some formats of the binary log, lock in share mode. */
const admitBody = (
  fences: string,
  refuse: string,
): string => `  DECLARE stated ${text} DEFAULT NULLIF(CONVERT(@holdfast_fence USING utf8mb4), '');
  DECLARE what ${text} DEFAULT CONCAT('write to ', relation);
  DECLARE shown ${text};
  DECLARE token, newest BIGINT;
  IF ${unnamed} THEN
    CALL ${refuse}('LF405', what, resource, ${unnamedCause}, warns);
  ELSE
    IF stated IS NOT NULL THEN
      SET shown = '0';
      IF JSON_VALID(stated) THEN
        IF JSON_TYPE(stated) = 'OBJECT' THEN
          SET shown = NULLIF(JSON_UNQUOTE(JSON_EXTRACT(stated, CONCAT('$.', JSON_QUOTE(resource)))), 'null');
        END IF;
      END IF;
    END IF;
    IF shown IS NULL THEN
      CALL ${refuse}('LF428', what, resource, ': the transaction has stated no fencing token for it', warns);
    ELSEIF shown REGEXP '[^0-9]' OR shown LIKE '0%' OR CHAR_LENGTH(shown) NOT BETWEEN 1 AND 16
      OR CAST(shown AS UNSIGNED) > ${Number.MAX_SAFE_INTEGER} THEN
      CALL ${refuse}('LF400', what, resource, ': the fencing token in @holdfast_fence is malformed', warns);
    ELSE
      SET token = CAST(shown AS UNSIGNED);
      INSERT INTO ${fences} (name, fence, written, version) VALUES (CAST(resource AS BINARY), token, token, 1)
        ON DUPLICATE KEY UPDATE fence = GREATEST(fence, token), written = GREATEST(written, token), version = version + 1;
      SELECT fence INTO newest FROM ${fences} WHERE name = CAST(resource AS BINARY) FOR UPDATE;
      IF newest > token THEN
        CALL ${refuse}('LF409', what, resource, ${newerCause}, warns);
      END IF;
    END IF;
  END IF;`;

/**
 * Locks all names before it reads without a lock, which takes the snapshot of the transaction if there is none. A snapshot that
 * has another version is older than the last write. Only readers look first whether they can share the row: they would
 * deadlock if each locked it in share mode, and then wanted to write it.
 */
const registerReadBody = (fences: string, refuse: string): string => `  DECLARE place INT DEFAULT 0;
  DECLARE resource ${text};
  DECLARE seen, latest, newest, newest_written BIGINT;
  WHILE place < 2 * JSON_LENGTH(names) DO
    SET resource = JSON_UNQUOTE(JSON_EXTRACT(names, CONCAT('$[', place MOD JSON_LENGTH(names), ']')));
    IF ${unnamed} THEN
      CALL ${refuse}('LF405', 'register a read', resource, ${unnamedCause}, FALSE);
    END IF;
    IF place < JSON_LENGTH(names) THEN
      SET newest = NULL;
      IF shares THEN
        SELECT MAX(fence) INTO newest FROM ${fences} WHERE name = CAST(resource AS BINARY);
      END IF;
      IF newest >= token THEN
        SELECT MAX(fence) INTO newest FROM ${fences} WHERE name = CAST(resource AS BINARY) LOCK IN SHARE MODE;
      ELSE
        INSERT INTO ${fences} (name, fence, written, version) VALUES (CAST(resource AS BINARY), 0, 0, 0)
          ON DUPLICATE KEY UPDATE version = version;
      END IF;
    ELSE
      SELECT MAX(version) INTO seen FROM ${fences} WHERE name = CAST(resource AS BINARY);
      SELECT MAX(version), MAX(fence), MAX(written) INTO latest, newest, newest_written FROM ${fences}
        WHERE name = CAST(resource AS BINARY) LOCK IN SHARE MODE;
      IF IF(shares, newest_written, newest) > token THEN
        SET newest = IF(shares, newest_written, newest);
        CALL ${refuse}('LF409', 'register a read', resource, ${newerCause}, FALSE);
      ELSEIF latest IS NULL OR NOT (latest <=> seen) THEN
        CALL ${refuse}('40001', 'register a read', resource, ': the transaction has an older snapshot', FALSE);
      ELSEIF NOT shares THEN
        UPDATE ${fences} SET fence = token, written = token, version = version + 1 WHERE name = CAST(resource AS BINARY);
      ELSEIF newest < token THEN
        UPDATE ${fences} SET fence = token WHERE name = CAST(resource AS BINARY);
      END IF;
    END IF;
    SET place = place + 1;
  END WHILE;`;
