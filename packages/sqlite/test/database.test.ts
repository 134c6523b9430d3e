import Database from "libsql";
import { describe, expect, test, vi } from "vitest";
import { type Modules, openDatabase } from "../src/database.ts";
import { temporaryFile } from "./temporary.ts";

/** Opens an empty file with the drivers that are there, and returns the name of the one that was used. */
async function driverUsed(there: readonly string[], driver?: Parameters<typeof openDatabase>[1]): Promise<string> {
  let used = "";
  const classOf = (name: string) =>
    class extends Database {
      constructor(path: string) {
        super(path);
        used = name;
      }
    };
  const modules: Modules = {
    builtIn: (name) => (there.includes(name) ? { DatabaseSync: classOf(name) } : undefined),
    installed: async (name) => {
      if (!there.includes(name)) throw new Error(`Cannot find package '${name}'`);
      return { default: classOf(name) };
    },
  };
  (await openDatabase(await temporaryFile(), driver, modules)).close();
  return used;
}

describe("openDatabase()", () => {
  test("openDatabase() uses the first driver that can be loaded", async () => {
    expect(await driverUsed(["better-sqlite3", "libsql", "node:sqlite"])).toBe("node:sqlite");
    expect(await driverUsed(["better-sqlite3", "libsql"])).toBe("libsql");
    expect(await driverUsed(["better-sqlite3"])).toBe("better-sqlite3");
  });

  test("openDatabase() uses the driver that the caller names", async () => {
    expect(await driverUsed(["better-sqlite3", "libsql", "node:sqlite"], "better-sqlite3")).toBe("better-sqlite3");
  });

  test("openDatabase() names the commands that install a driver if there is none", async () => {
    await expect(driverUsed([])).rejects.toThrow(
      "no SQLite driver can be loaded: npm install libsql, or npm install better-sqlite3, or use Node.js 22.13 or later",
    );
    await expect(driverUsed(["libsql"], "better-sqlite3")).rejects.toThrow(
      "the SQLite driver better-sqlite3 cannot be loaded: npm install better-sqlite3",
    );
    await expect(driverUsed(["libsql"], "node:sqlite")).rejects.toThrow(
      "the SQLite driver node:sqlite cannot be loaded: use Node.js 22.13 or later",
    );
  });

  test("openDatabase() keeps the reasons why drivers cannot be loaded", async () => {
    const { cause } = await driverUsed([]).catch((error) => error);
    expect(cause.errors.map(String)).toEqual([
      "Error: this runtime has no node:sqlite",
      "Error: Cannot find package 'libsql'",
      "Error: Cannot find package 'better-sqlite3'",
    ]);
  });

  test("openDatabase() opens the file with a function of the caller", async () => {
    const path = await temporaryFile();
    const open = vi.fn((file: string) => new Database(file));
    (await openDatabase(path, open)).close();
    expect(open).toHaveBeenCalledWith(path);
  });

  test.each([
    ["node:sqlite", { code: "ERR_SQLITE_ERROR", errcode: 13 }],
    ["node:sqlite with an extended code", { code: "ERR_SQLITE_ERROR", errcode: 13 + 256 }],
    ["libsql", { code: "SQLITE_FULL", rawCode: 13 }],
    ["libsql with an extended code", { code: "UNKNOWN_SQLITE_ERROR_269", rawCode: 13 + 256 }],
    ["better-sqlite3 with an extended code", { code: "SQLITE_FULL_EXTENDED" }],
  ])("openDatabase() explains errors of %s", async (_, details) => {
    const original = Object.assign(new Error("database or disk is full"), details);
    const fail = (): never => {
      throw original;
    };
    const database = await openDatabase("locks.db", () => ({ exec: fail, prepare: fail, close: () => {} }));
    expect(() => database.exec("COMMIT")).toThrow(
      expect.objectContaining({
        code: "SQLITE_FULL",
        message: "cannot use the lock file locks.db: the disk is full (database or disk is full)",
        cause: original,
      }),
    );
  });
});
