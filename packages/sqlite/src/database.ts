/** A connection to a SQLite file: the part that the drivers have in common. Calls block until they are done. */
export interface SqliteDatabase {
  /** Runs statements. */
  exec(sql: string): unknown;
  /** Prepares a statement. */
  prepare(sql: string): SqliteStatement;
  /** Closes the connection. */
  close(): unknown;
}

/** A prepared statement of a {@link SqliteDatabase}. Its values are strings, bigints and null. */
export interface SqliteStatement {
  /** Returns the first row, or null or undefined if there is none. Integers are numbers. */
  get(...values: unknown[]): unknown;
  /** Returns all rows. */
  all(...values: unknown[]): unknown[];
  /** Runs the statement. */
  run(...values: unknown[]): unknown;
}

/** A driver that is known by name: the name of its module. */
export type SqliteDriverName = "node:sqlite" | "libsql" | "better-sqlite3";

/** A driver: the name of a known one, or a function that opens a file with another. */
export type SqliteDriver = SqliteDriverName | ((path: string) => SqliteDatabase);

type DatabaseClass = new (path: string) => SqliteDatabase;

/** The drivers by name, in the order in which they are tried. */
export const driverNames: readonly SqliteDriverName[] = ["node:sqlite", "libsql", "better-sqlite3"];

/** What this process may load: replaced in tests. */
export interface Modules {
  /** Returns a built-in module, or undefined if this runtime does not have it. */
  builtIn(name: string): object | undefined;
  /** Imports an installed module. */
  installed(name: string): Promise<object>;
}

const modulesOfProcess: Modules = {
  builtIn: (name) => process.getBuiltinModule(name),
  // Bundlers leave this import alone: the drivers are native modules, and none of them has to be installed.
  installed: (name) => import(/* webpackIgnore: true */ /* @vite-ignore */ name),
};

/**
 * Opens a file with a driver. Without one, it takes the first that is there.
 *
 * @param path an absolute path: libsql would connect to a server if this were a URL
 * @throws {Error} if no driver is there, or the file cannot be opened
 */
export async function openDatabase(
  path: string,
  driver: SqliteDriver | undefined,
  modules: Modules = modulesOfProcess,
): Promise<SqliteDatabase> {
  const open = typeof driver === "function" ? driver : await loadDriver(driver, modules);
  try {
    return withClearErrors(path, open(path));
  } catch (error) {
    throw explainOpening(path, error);
  }
}

async function loadDriver(
  name: SqliteDriverName | undefined,
  modules: Modules,
): Promise<(file: string) => SqliteDatabase> {
  const errors: unknown[] = [];
  for (const candidate of name === undefined ? driverNames : [name]) {
    try {
      const Database = await loadClass(candidate, modules);
      return (file) => new Database(file);
    } catch (error) {
      errors.push(error);
    }
  }
  const missing = name === undefined ? "no SQLite driver can be loaded" : `the SQLite driver ${name} cannot be loaded`;
  const cause = errors.length === 1 ? errors[0] : new AggregateError(errors, "each driver failed");
  throw new Error(`${missing}: ${remedy(name)}`, { cause });
}

async function loadClass(name: SqliteDriverName, modules: Modules): Promise<DatabaseClass> {
  if (name !== "node:sqlite") return ((await modules.installed(name)) as { default: DatabaseClass }).default;
  const module = modules.builtIn(name);
  if (module === undefined) throw new Error("this runtime has no node:sqlite");
  return (module as { DatabaseSync: DatabaseClass }).DatabaseSync;
}

function remedy(name: SqliteDriverName | undefined): string {
  const newer = "use Node.js 22.13 or later";
  if (name === "node:sqlite") return newer;
  if (name !== undefined) return `npm install ${name}`;
  return `npm install libsql, or npm install better-sqlite3, or ${newer}`;
}

/** Wraps a connection: its errors say what is wrong with the file, and it can be closed twice. */
function withClearErrors(path: string, database: SqliteDatabase): SqliteDatabase {
  let isClosed = false;
  const whileOpen = <T>(work: () => T): T => {
    if (isClosed) throw new Error(`the lock file ${path} is closed`);
    try {
      return work();
    } catch (error) {
      throw explain(path, error);
    }
  };
  return {
    exec: (sql) => whileOpen(() => database.exec(sql)),
    prepare(sql) {
      const statement = whileOpen(() => database.prepare(sql));
      return {
        get: (...values) => whileOpen(() => statement.get(...values)),
        all: (...values) => whileOpen(() => statement.all(...values)),
        run: (...values) => whileOpen(() => statement.run(...values)),
      };
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      database.close();
    },
  };
}

/** What SQLite's result codes say about the file. */
const problems = [
  { number: 5, code: "SQLITE_BUSY", meaning: "another process is writing to it" },
  { number: 8, code: "SQLITE_READONLY", meaning: "it is read-only for this process" },
  { number: 10, code: "SQLITE_IOERR", meaning: "the disk or the file system reports an error" },
  { number: 11, code: "SQLITE_CORRUPT", meaning: "it is damaged" },
  { number: 13, code: "SQLITE_FULL", meaning: "the disk is full" },
  { number: 14, code: "SQLITE_CANTOPEN", meaning: "its folder is missing, or this process may not use it" },
  { number: 26, code: "SQLITE_NOTADB", meaning: "it is not a SQLite database" },
];

/** Returns an error that says what is wrong with the file, with the same `code` for each driver. */
function explain(path: string, error: unknown): unknown {
  const { code, errcode, rawCode } = Object(error) as { code?: unknown; errcode?: unknown; rawCode?: unknown };
  // `node:sqlite` has an `errcode`, libsql a `rawCode` or only a message, and others a `code`. Each may be extended.
  const [, inMessage] = /^ConnectionFailed\(.*: (\d+)"\)$/s.exec(messageOf(error)) ?? [];
  const number = Number(errcode ?? rawCode ?? inMessage) & 255;
  const problem = problems.find((each) => each.number === number || String(code).startsWith(each.code));
  return problem === undefined ? error : problemWith(path, problem, error);
}

/** Like {@link explain}, for errors of a driver that cannot open the file. Some drivers do not name it. */
function explainOpening(path: string, error: unknown): unknown {
  const explained = explain(path, error);
  if (explained !== error) return explained;
  return new Error(`cannot open the lock file ${path} (${messageOf(error)})`, { cause: error });
}

function problemWith(path: string, { code, meaning }: (typeof problems)[number], cause: unknown): Error {
  const error = new Error(`cannot use the lock file ${path}: ${meaning} (${messageOf(cause)})`, { cause });
  return Object.assign(error, { code });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether another process is writing to the file. */
export function isBusy(error: unknown): boolean {
  return (Object(error) as { code?: unknown }).code === "SQLITE_BUSY";
}
