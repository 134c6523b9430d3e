import type { Redlock } from "@holdfast/core";
import { assertOptions, checkMethods, checkType } from "@holdfast/core/node";
import { readCall } from "./arguments.ts";
import { NamedLocks } from "./named-locks.ts";
import type { LockInfo, LockManager, LockMode } from "./types.ts";

/** The options of {@link createLockManager}. */
export interface LockManagerOptions {
  /**
   * Identifies this lock manager in `query()`, and as the label of its locks in errors and on the command line: 1 to 100
   * printable characters, different from those of other lock managers. Default: random.
   */
  readonly clientId?: string | undefined;
  /**
   * Precedes each name on the nodes, and so separates these locks from others there, as the origin does in a browser.
   * Managers with the same prefix share their locks. Default `web:`.
   */
  readonly prefix?: string | undefined;
}

/**
 * Creates a lock manager with the shape of `navigator.locks`, whose locks are those of a `Redlock`: they exclude each
 * other in all processes that use the same nodes. It follows the Web Locks API (https://w3c.github.io/web-locks/).
 *
 * Locks are leases that this process extends. If it cannot, or another process steals the lock, the promise of
 * `request()` rejects with an `AbortError` while the callback still runs. Code that must not act then looks at
 * `lock.signal`, or presents `lock.fence` to its storage.
 *
 * @param redlock acquires the locks, with its `ttlMs` and other options; `waitTimeoutMs` and `label` do not apply
 * @throws {TypeError | RangeError} naming the bad argument
 *
 * @example
 * ```ts
 * import { createLockManager } from "@holdfast/web-locks";
 *
 * const locks = createLockManager(redlock);
 * await locks.request("cart", async (lock) => {
 *   console.log(`alone with the ${lock.name}`);
 * });
 * ```
 */
export function createLockManager(redlock: Redlock, options: LockManagerOptions = {}): LockManager {
  checkMethods("redlock", ["acquire", "tryAcquire", "inspect"], redlock);
  assertOptions(options, ["clientId", "prefix"], "createLockManager");
  const { clientId = randomId(), prefix = "web:" } = options;
  checkType("prefix", "string", prefix);
  checkType("clientId", "string", clientId);
  if (!/^[^\p{C}]{1,100}$/u.test(clientId)) throw new RangeError("clientId must be 1 to 100 printable characters");

  const names = new Map<string, NamedLocks>();
  const locksOf = (name: string): NamedLocks => {
    const forget = () => {
      if (locks.isUnused && names.get(name) === locks) names.delete(name);
    };
    const lockOptions = { label: clientId, autoExtend: true };
    const locks = names.get(name) ?? new NamedLocks(redlock, prefix + name, lockOptions, forget);
    names.set(name, locks);
    return locks;
  };

  return {
    request: (async (...args: unknown[]) => {
      const call = readCall(args);
      return locksOf(call.name).request(call);
    }) as LockManager["request"],

    async query() {
      const listOf = async ([name, locks]: [string, NamedLocks]) => {
        const { held, pending } = await locks.snapshot();
        const ours = (modes: readonly LockMode[]) => modes.map((mode) => ({ name, mode, clientId }));
        const others = (await holders(redlock, prefix, name)).filter((info) => info.clientId !== clientId);
        return { held: [...ours(held), ...others], pending: ours(pending) };
      };
      const lists = await Promise.all([...names].map(listOf));
      return { held: lists.flatMap(({ held }) => held), pending: lists.flatMap(({ pending }) => pending) };
    },
  };
}

/** Returns the holders of a name that a majority of the nodes knows. */
async function holders(redlock: Redlock, prefix: string, name: string): Promise<LockInfo[]> {
  const inspection = await redlock.inspect(prefix + name);
  const mode = inspection.mode ?? "exclusive";
  return inspection.holders.map(({ owner, label }) => ({ name, mode, clientId: label ?? owner }));
}

function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
