/**
 * The API of `@sesamecare-oss/redlock` over Holdfast: that of `redlock` 5, and the option `db`. Locks have the same keys, so
 * that processes with either library exclude each other.
 */
import { type Client, Redlock as Redlock5, type Settings as Settings5 } from "./redlock.ts";

export {
  type Client,
  ExecutionError,
  type ExecutionResult,
  type ExecutionStats,
  Lock,
  type RedlockAbortSignal,
  type RedlockUsingContext,
  ResourceLockedError,
} from "./redlock.ts";

/** The settings of a `Redlock`. */
export interface Settings extends Partial<Settings5> {
  /** The database that the clients are connected to. Default 0. */
  readonly db?: number;
}

/**
 * `Redlock` of `@sesamecare-oss/redlock`. Deliberate differences: the option `db` states the database of the clients, and
 * does not select it; and all that differs from `redlock` 5, see `Redlock` of `@holdfast/compat/redlock`.
 */
export class Redlock extends Redlock5 {
  /** The settings, complete. */
  declare readonly settings: Required<Settings>;

  /**
   * Creates a client of these servers. Sends nothing.
   *
   * @param clients clients of ioredis, one for each server or cluster
   * @param settings see {@link Settings}
   * @throws {TypeError | RangeError} for bad clients or settings, such as a `db` that is not the database of all clients
   *
   * @example
   * ```ts
   * import { Redlock } from "@holdfast/compat/sesamecare-redlock";
   * import { Redis } from "ioredis";
   *
   * const jobs = new Redlock([new Redis({ db: 3 })], { db: 3 });
   * await jobs.using(["invoice:42"], 10_000, async (_, context) => console.log(context.extensions));
   * await jobs.quit();
   * ```
   */
  constructor(clients: Iterable<Client>, { db = 0, ...settings }: Settings = {}) {
    super(clients, settings);
    Object.assign(this.settings, { db });
    for (const { options } of this.clients) {
      const database = options.db ?? 0;
      if (database === db) continue;
      throw new RangeError(
        `db must be ${database}, the database of a client, not ${db}: locks are where the client is`,
      );
    }
  }
}
