/** Tells calls within the routine of a lock from calls beside it. */

import { checkMethods } from "./arguments.ts";
import type { Lock } from "./lock.ts";

/** The part of an `AsyncLocalStorage` that {@link Nesting} uses. Node.js, Deno, Bun and Cloudflare Workers have one. */
export interface NestingStorage {
  /** Returns the value with which the present routine runs. */
  getStore(): unknown;
  /** Runs a routine with a value. */
  run<Result>(value: unknown, routine: () => Result): Result;
}

/** A lock whose routine runs. */
interface Running {
  readonly lock: Pick<Lock, "resources" | "remainingMs">;
  readonly settings: { readonly mode: "exclusive" | "shared"; readonly label: string | undefined };
  /** The lock within whose routine this one was acquired. */
  readonly outer: Running | undefined;
}

/**
 * Knows within which routines of `using` a call is made, through promises and timers. The option `nesting` of one `Redlock`:
 * a call that would wait for a lock around it then rejects at once with a `LockHeldError`, and calls beside it wait as usual.
 *
 * @example
 * ```ts
 * import { AsyncLocalStorage } from "node:async_hooks";
 * import { Redlock } from "@holdfast/core";
 * import { Nesting } from "@holdfast/core/nesting";
 *
 * const redlock = new Redlock([memoryNode()], { nesting: new Nesting(new AsyncLocalStorage()) });
 * ```
 */
export class Nesting {
  readonly #storage: NestingStorage;

  /**
   * @param storage an `AsyncLocalStorage` that nothing else uses
   * @throws {TypeError} if it is none
   */
  constructor(storage: NestingStorage) {
    checkMethods("storage", ["getStore", "run"], storage);
    this.#storage = storage;
  }

  /**
   * Runs the routine of a lock. Called by the `Redlock`.
   *
   * @param lock the lock
   * @param settings its mode and its label
   * @param routine what runs within the lock
   */
  run<Result>(lock: Running["lock"], settings: Running["settings"], routine: () => Result): Result {
    const running: Running = { lock, settings, outer: this.#innermost() };
    return this.#storage.run(running, routine);
  }

  /**
   * Says which lock around the present call keeps it from its resources, if one does. Called by the `Redlock`.
   *
   * @param resources what the call wants to lock
   * @param settings the mode in which it wants them
   */
  lockAround(resources: readonly string[], { mode }: Pick<Running["settings"], "mode">): string | undefined {
    for (let running = this.#innermost(); running !== undefined; running = running.outer) {
      const { lock, settings } = running;
      if ((settings.mode === "shared" && mode === "shared") || lock.remainingMs() === 0) continue;
      const common = lock.resources.find((resource) => resources.includes(resource));
      if (common === undefined) continue;
      const label = settings.label === undefined ? "" : `, as ${settings.label}`;
      return `it is called within the lock on ${common}${label}, and would wait for itself`;
    }
    return undefined;
  }

  /** Returns the innermost lock around the present call that has not ended: a routine may start what goes on after it. */
  #innermost(): Running | undefined {
    let running = this.#storage.getStore() as Running | undefined;
    while (running?.lock.remainingMs() === 0) running = running.outer;
    return running;
  }
}
