import { execFile } from "node:child_process";
import { access, constants, readdir, realpath } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";

/** The folder in which Debian and its derivatives install all versions, off the PATH. */
const debianFolder = "/usr/lib/postgresql";

/** Finds the folder of the PostgreSQL server programs (`initdb` and `postgres`); undefined if they are not installed. */
export async function findPostgres(): Promise<string | undefined> {
  const folders = [...(process.env.PATH ?? "").split(delimiter), ...(await debianFolders()), ...(await configFolder())];
  for (const folder of folders) {
    // A folder of links may lack the less common programs, such as `pg_basebackup`.
    if (folder !== "" && (await hasServer(folder))) return dirname(await realpath(join(folder, "postgres")));
  }
  return undefined;
}

/** Returns the folders of all versions, the newest first. */
async function debianFolders(): Promise<string[]> {
  const versions = await readdir(debianFolder).catch(() => []);
  return versions.sort((a, b) => Number(b) - Number(a)).map((version) => join(debianFolder, version, "bin"));
}

async function configFolder(): Promise<string[]> {
  try {
    return [(await promisify(execFile)("pg_config", ["--bindir"])).stdout.trim()];
  } catch {
    return []; // there is no such program
  }
}

async function hasServer(folder: string): Promise<boolean> {
  try {
    for (const program of ["initdb", "postgres"]) await access(join(folder, program), constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
