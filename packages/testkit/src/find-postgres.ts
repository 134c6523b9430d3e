import { execFile } from "node:child_process";
import { access, constants, readdir } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

/** Where Debian and its relatives keep the programs of each version, none of them on the PATH. */
const debianFolder = "/usr/lib/postgresql";

/** The folder with the programs of a PostgreSQL server (`initdb` and `postgres`), if there is one. */
export async function findPostgres(): Promise<string | undefined> {
  const folders = [...(process.env.PATH ?? "").split(delimiter), ...(await debianFolders()), ...(await configFolder())];
  for (const folder of folders) if (folder !== "" && (await hasServer(folder))) return folder;
  return undefined;
}

/** The newest first. */
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
