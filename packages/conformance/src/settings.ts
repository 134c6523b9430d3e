import type { DescribeLockNodeOptions, LockNodeLimits, LockNodeSubject } from "./subject.ts";

/** The name of a limit. */
export type Limit = keyof LockNodeLimits;

/** Complete and checked options. */
export interface Settings {
  readonly create: () => Promise<LockNodeSubject>;
  /** What the server cannot do, with the reason. */
  readonly cannot: ReadonlyMap<Limit, string>;
  /** Why subjects have no server, or undefined where they have. */
  readonly noServer: string | undefined;
  readonly timeoutMs: number;
}

/** When a test is stopped by the runner, in milliseconds: it waits several times for what must happen. */
export function hangGuardMs({ timeoutMs }: Pick<Settings, "timeoutMs">): number {
  return 4 * timeoutMs;
}

const limits: readonly string[] = [
  "severalResources",
  "unrelatedResources",
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
export function parseOptions({ create, cannot = {}, noServer, timeoutMs = 10_000 }: DescribeLockNodeOptions): Settings {
  if (typeof create !== "function") throw new TypeError("create must be a function that makes a fresh subject");
  if (!(timeoutMs > 0)) throw new RangeError(`timeoutMs must be a positive number, not ${timeoutMs}`);
  if (noServer !== undefined) insistOnReason("noServer", noServer);
  const declared = Object.entries(cannot).filter(([, reason]) => reason !== undefined);
  for (const [limit, reason] of declared) {
    if (!limits.includes(limit)) throw new TypeError(`cannot.${limit} is none of the limits ${limits.join(", ")}`);
    insistOnReason(`cannot.${limit}`, reason);
  }
  return { create, cannot: new Map(declared as [Limit, string][]), noServer, timeoutMs };
}

function insistOnReason(option: string, reason: unknown): void {
  if (typeof reason !== "string" || reason === "") throw new TypeError(`${option} must give the reason`);
}
