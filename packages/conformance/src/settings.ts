import type { DescribeLockNodeOptions, LockNodeLimits, LockNodeSubject } from "./subject.ts";

/** The name of a limit. */
export type Limit = keyof LockNodeLimits;

/** Complete and checked options. */
export interface Settings {
  readonly create: () => Promise<LockNodeSubject>;
  /** What the server cannot do, with the reason. */
  readonly cannot: ReadonlyMap<Limit, string>;
  readonly patienceMs: number;
}

const limits: readonly string[] = [
  "severalResources",
  "takeover",
  "rejoin",
  "longTtl",
  "exactTtl",
] satisfies readonly Limit[];

/**
 * Checks the options and fills in what is missing.
 *
 * @throws {TypeError | RangeError} naming the option and what is wanted
 */
export function parseOptions({ create, cannot = {}, patienceMs = 10_000 }: DescribeLockNodeOptions): Settings {
  if (typeof create !== "function") throw new TypeError("create must be a function that makes a fresh subject");
  if (!(patienceMs > 0)) throw new RangeError(`patienceMs must be a positive number, not ${patienceMs}`);
  const declared = Object.entries(cannot).filter(([, reason]) => reason !== undefined);
  for (const [limit, reason] of declared) {
    if (!limits.includes(limit)) throw new TypeError(`cannot.${limit} is none of the limits ${limits.join(", ")}`);
    if (typeof reason !== "string" || reason === "") throw new TypeError(`cannot.${limit} must give the reason`);
  }
  return { create, cannot: new Map(declared as [Limit, string][]), patienceMs };
}
