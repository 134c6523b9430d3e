import { UsageError } from "../exit-codes.ts";

/**
 * Loads packages that are installed only where they are needed.
 *
 * @param what needs the packages, such as "postgres:// nodes"
 * @throws {UsageError} with the command that installs them if they are missing
 */
export async function loadDriver<T>(what: string, packages: readonly string[], load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new UsageError(
      `${what} need packages that are not installed beside holdfast: npm install ${packages.join(" ")}`,
    );
  }
}
