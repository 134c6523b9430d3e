import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** A server program. */
export interface MysqlProgram {
  readonly program: string;
  readonly isMariaDb: boolean;
}

/**
 * Finds the program of a MariaDB or MySQL server: the one that the environment variable `HOLDFAST_MYSQLD` names, or an
 * installed one, MariaDB's first; undefined if there is none. Debian installs both off the PATH of ordinary users.
 */
export async function findMysql(): Promise<MysqlProgram | undefined> {
  const named = process.env.HOLDFAST_MYSQLD;
  const programs = named ? [named] : ["mariadbd", "/usr/sbin/mariadbd", "mysqld", "/usr/sbin/mysqld"];
  for (const program of programs) {
    try {
      const { stdout } = await promisify(execFile)(program, ["--no-defaults", "--version"]);
      return { program, isMariaDb: stdout.includes("MariaDB") };
    } catch {} // it is not there
  }
  return undefined;
}
