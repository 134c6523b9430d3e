import type { Accounts } from "./accounts.ts";

/** The storages, and what each is called. */
export const storages = {
  postgres: "PostgreSQL",
  sqlite: "SQLite",
  http: "an HTTP service",
  redis: "Redis",
} as const;

/** Which storage. */
export type StorageName = keyof typeof storages;

/** Opens the accounts of a storage. Only what is needed for it is loaded. */
export async function openAccounts(storage: StorageName, address: string): Promise<Accounts> {
  if (storage === "postgres") return (await import("./postgres/accounts.ts")).openPostgresAccounts(address);
  if (storage === "sqlite") return (await import("./sqlite/accounts.ts")).openSqliteAccounts(address);
  if (storage === "http") return (await import("./http/accounts.ts")).openHttpAccounts(address);
  return (await import("./redis/accounts.ts")).openRedisAccounts(address);
}

/**
 * The storages that are named, or all of them.
 *
 * @throws {RangeError} when a name is none
 */
export function storagesNamed(names: readonly string[]): StorageName[] {
  const all = Object.keys(storages) as StorageName[];
  const unknown = names.filter((name) => !(all as string[]).includes(name));
  if (unknown.length > 0) throw new RangeError(`no such storage: ${unknown.join(", ")}; there are ${all.join(", ")}`);
  return names.length > 0 ? (names as StorageName[]) : all;
}
