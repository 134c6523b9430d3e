import { createRivalProcesses, type RivalProcesses } from "./rival-processes.ts";
import type { DescribeLockNodeOptions, LockNodeLimits, LockNodeSubject } from "./subject.ts";

/** The name of a limit. */
export type Limit = keyof LockNodeLimits;

/** Complete and checked options. */
export interface Settings {
  readonly create: () => Promise<LockNodeSubject>;
  /** The limits of the server, each with its reason. */
  readonly cannot: ReadonlyMap<Limit, string>;
  /** Why subjects have no server; undefined if they have one. */
  readonly noServer: string | undefined;
  /** Why subjects have no rival in another process; undefined if they have one. */
  readonly noOtherProcess: string | undefined;
  /** How many resources one call may name. */
  readonly resourcesMax: number;
  /** How many bytes of UTF-8 a name may have. */
  readonly nameBytesMax: number;
  /** The statements of the tests to run; undefined for all. */
  readonly only: ReadonlySet<string> | undefined;
  /** How many times the suite repeats each race, as a multiple of the default. */
  readonly repetition: number;
  /** Starts the processes of rivals. */
  readonly processes: RivalProcesses;
  readonly timeoutMs: number;
}

/**
 * Returns when the runner stops a test, in milliseconds. A test may wait several times, and makes up to two thousand
 * calls, each with its own timeout.
 */
export function hangGuardMs({ timeoutMs, repetition }: Pick<Settings, "timeoutMs" | "repetition">): number {
  return 12 * timeoutMs * Math.max(1, repetition);
}

/** The smallest size limits that leave room for all other tests. */
const sizeLimits = { manyResources: 10, longNames: 64 } as const;

const limits: readonly string[] = [
  "severalResources",
  "unrelatedResources",
  "takeover",
  "rejoin",
  "sharing",
  "longTtl",
  "exactTtl",
  "floor",
  "manyResources",
  "longNames",
] satisfies readonly Limit[];

/**
 * Checks the options and fills in defaults.
 *
 * @throws {TypeError | RangeError} naming the option and what it must be
 */
export function parseOptions(options: DescribeLockNodeOptions): Settings {
  const { create, cannot = {}, noServer, noOtherProcess, only, repetition = 1, timeoutMs = 10_000 } = options;
  if (typeof create !== "function") throw new TypeError("create must be a function that creates a fresh subject");
  if (!(timeoutMs > 0)) throw new RangeError(`timeoutMs must be a positive number, not ${timeoutMs}`);
  if (!(repetition >= 0.05 && repetition <= 100)) {
    throw new RangeError(`repetition must be a number from 0.05 to 100, not ${repetition}`);
  }
  if (noServer !== undefined) assertReason("noServer", noServer);
  if (noOtherProcess !== undefined) assertReason("noOtherProcess", noOtherProcess);
  if (only?.length === 0) throw new RangeError("only must name at least one test");
  const { manyResources, longNames } = cannot;
  return {
    create,
    cannot: reasonsOf(cannot),
    noServer,
    noOtherProcess,
    resourcesMax: manyResources?.max ?? Number.POSITIVE_INFINITY,
    nameBytesMax: longNames?.max ?? Number.POSITIVE_INFINITY,
    only: only && new Set(only),
    repetition,
    processes: createRivalProcesses(timeoutMs),
    timeoutMs,
  };
}

/** Returns the reason for each declared limit. */
export function reasonsOf(cannot: LockNodeLimits): ReadonlyMap<Limit, string> {
  const declared = Object.entries(cannot).filter(([, limit]) => limit !== undefined);
  return new Map(
    declared.map(([name, limit]: [string, unknown]) => {
      if (!limits.includes(name)) throw new TypeError(`cannot.${name} is not one of the limits ${limits.join(", ")}`);
      if (!(name in sizeLimits)) return [name as Limit, assertReason(`cannot.${name}`, limit)];
      const { max, reason } = Object(limit);
      const least = sizeLimits[name as keyof typeof sizeLimits];
      if (!Number.isSafeInteger(max) || max < least) {
        throw new RangeError(`cannot.${name}.max must be an integer of at least ${least}, not ${max}`);
      }
      return [name as Limit, assertReason(`cannot.${name}.reason`, reason)];
    }),
  );
}

function assertReason(option: string, reason: unknown): string {
  if (typeof reason !== "string" || reason === "") throw new TypeError(`${option} must give the reason`);
  return reason;
}
