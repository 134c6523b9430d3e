import type { Accounts } from "./accounts.ts";

/** The storages and their titles. */
export const storages = {
  postgres: "PostgreSQL",
  sqlite: "SQLite",
  http: "an HTTP service",
  redis: "Redis",
} as const;

/** The name of a storage. */
export type StorageName = keyof typeof storages;

/** Opens the accounts of a storage, and loads only its client. */
export async function openAccounts(storage: StorageName, address: string): Promise<Accounts> {
  if (storage === "postgres") return (await import("./postgres/accounts.ts")).openPostgresAccounts(address);
  if (storage === "sqlite") return (await import("./sqlite/accounts.ts")).openSqliteAccounts(address);
  if (storage === "http") return (await import("./http/accounts.ts")).openHttpAccounts(address);
  return (await import("./redis/accounts.ts")).openRedisAccounts(address);
}

/**
 * Returns the storages with these names, or all of them.
 *
 * @throws {RangeError} if a name is unknown
 */
export function storagesNamed(names: readonly string[]): StorageName[] {
  const all = Object.keys(storages) as StorageName[];
  const unknown = names.filter((name) => !(all as string[]).includes(name));
  if (unknown.length > 0) throw new RangeError(`no such storage: ${unknown.join(", ")}; choose from ${all.join(", ")}`);
  return names.length > 0 ? (names as StorageName[]) : all;
}
