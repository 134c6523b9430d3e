import { type Command, readCommand } from "@holdfast/app-kit/program";

/** The storages and their titles. */
export const storages = {
  postgres: "PostgreSQL",
  http: "an HTTP service",
  redis: "Redis",
} as const;

/** The name of a storage. */
export type StorageName = keyof typeof storages;

/**
 * Loads a storage alone, with its client. It has `start`, which starts it and resolves with its address, and `open`, which
 * opens the accounts there.
 */
export const load = {
  postgres: () => import("./postgres/accounts.ts"),
  http: () => import("./http/accounts.ts"),
  redis: () => import("./redis/accounts.ts"),
} as const;

const all = Object.keys(storages) as StorageName[];

const help = `Plays late writes to storages, with and without a check of the fencing token.

Usage: pnpm --filter @holdfast/fenced-storage start [${all.join("|")}] [options]

  --help  prints this
`;

/** Reads the command line: the names of storages, or none for all of them. */
export function parseCommand(args: readonly string[]): Command<StorageName[]> {
  return readCommand(help, args, ({ words }) => {
    const unknown = words.filter((word) => !(all as string[]).includes(word));
    if (unknown.length > 0)
      throw new RangeError(`no such storage: ${unknown.join(", ")}; choose from ${all.join(", ")}`);
    return words.length > 0 ? (words as StorageName[]) : all;
  });
}
