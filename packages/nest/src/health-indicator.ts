import type { Health, Redlock } from "@holdfast/core";

/** What {@link HoldfastHealthIndicator.isHealthy} returns, in the form of `@nestjs/terminus`. */
export type LocksHealth<Key extends string> = Record<
  Key,
  { readonly status: "up" | "down" } & Partial<Omit<Health, "ok">> & { readonly message?: string }
>;

/**
 * Tells `@nestjs/terminus` whether enough servers reply for a lock. `HoldfastModule` provides it.
 *
 * @example
 * ```ts
 * import { HoldfastHealthIndicator } from "@holdfast/nest";
 *
 * const indicator = new HoldfastHealthIndicator(redlock);
 * console.log(await indicator.isHealthy("redis")); // in health.check([() => …])
 * ```
 */
export class HoldfastHealthIndicator {
  readonly #redlock: Redlock;

  /** @param redlock asks its nodes */
  constructor(redlock: Redlock) {
    this.#redlock = redlock;
  }

  /**
   * Asks all nodes, and returns `up` if a quorum replies, with the reply or the error of each node. Takes as long as
   * `Redlock.health`. Never rejects. The errors may name servers: do not publish them.
   *
   * @param key the name of the result. Default `locks`
   *
   * @example
   * ```ts
   * import { HoldfastHealthIndicator } from "@holdfast/nest";
   *
   * const { locks } = await new HoldfastHealthIndicator(redlock).isHealthy();
   * console.log(locks.status); // up
   * ```
   */
  async isHealthy<Key extends string = "locks">(key: Key = "locks" as Key): Promise<LocksHealth<Key>> {
    const result = await this.#redlock.health().then(
      ({ ok, ...details }) => ({ status: ok ? "up" : "down", ...details }),
      ({ message }: Error) => ({ status: "down", message }),
    );
    return { [key]: result } as LocksHealth<Key>;
  }
}
