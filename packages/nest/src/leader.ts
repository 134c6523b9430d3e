import type { Redlock } from "@holdfast/core";
import { type Election, type ElectionOptions, election, type Term } from "@holdfast/core/election";
import { type BeforeApplicationShutdown, Logger, type OnApplicationBootstrap } from "@nestjs/common";
import { type DiscoveryService, MetadataScanner } from "@nestjs/core";
import "reflect-metadata";

const metadataKey = "holdfast:leader";

/** The election of a {@link Leader} method. */
interface Candidacy {
  readonly name: string;
  readonly options: ElectionOptions;
}

type Lead = (term: Term) => Promise<unknown>;

/**
 * Runs a method of a provider or a controller in the one process that leads. Every process with this method stands for
 * election when its application has started. The method is called with each term that this process wins, and works until
 * `term.signal` aborts. When it returns or throws, this process resigns, and stands for election again a second later. An
 * error that it throws before the end of its term is logged.
 *
 * On shutdown the term ends: its signal aborts, and Nest waits for the method, at most for the time that the leader's lock
 * still lasts. The next leader is elected as soon as the method has ended.
 *
 * @param name the name of the election
 * @param options those of `election`: `ttlMs`, `label`, `maxHoldMs`, `observer`
 *
 * @example
 * ```ts
 * import { type Term } from "@holdfast/core/election";
 * import { Leader } from "@holdfast/nest";
 *
 * class Importer {
 *   @Leader("import", { ttlMs: 5_000 })
 *   async lead(term: Term) {
 *     while (!term.signal.aborted) {
 *       console.log(`one step in term ${term.fence}`);
 *       await new Promise((resolve) => setTimeout(resolve, 1_000));
 *     }
 *   }
 * }
 * console.log(Importer.name);
 * ```
 */
export function Leader(
  name: string,
  options: ElectionOptions = {},
): <Args extends [] | [term: Term], Result>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<(...args: Args) => Promise<Result>>,
) => void {
  return (_target, key, { value: method }) => {
    if (method === undefined) throw new TypeError(`@Leader ${String(key)} must be a method`);
    Reflect.defineMetadata(metadataKey, { name, options } satisfies Candidacy, method);
  };
}

/** Stands for the elections of all {@link Leader} methods of an application. */
export class Leaders implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #redlock: Redlock;
  readonly #discovery: DiscoveryService;
  readonly #logger = new Logger("Holdfast");
  readonly #stop = new AbortController();
  #campaigns: readonly Promise<void>[] = [];
  readonly #terms = new Set<Term>();

  /**
   * @param redlock the lock servers
   * @param discovery finds the methods
   */
  constructor(redlock: Redlock, discovery: DiscoveryService) {
    this.#redlock = redlock;
    this.#discovery = discovery;
  }

  /**
   * Starts all campaigns, or none.
   *
   * @throws {TypeError | RangeError} for bad options of a `@Leader`, a class that is not created once, or a second module
   */
  onApplicationBootstrap(): void {
    const scanner = new MetadataScanner();
    const wrappers = [...this.#discovery.getProviders(), ...this.#discovery.getControllers()];
    if (wrappers.filter(({ token }) => token === Leaders).length > 1)
      throw new TypeError("HoldfastModule must be imported once: it provides its Redlock to all modules");
    const campaigns: (() => Promise<void>)[] = [];
    // An alias has the same instance.
    for (const [instance, wrapper] of new Map(wrappers.map((each) => [each.instance, each]))) {
      if (typeof instance !== "object" || instance === null) continue;
      const prototype = Object.getPrototypeOf(instance);
      for (const key of scanner.getAllMethodNames(prototype)) {
        const candidacy: Candidacy | undefined = Reflect.getMetadata(metadataKey, prototype[key]);
        if (candidacy === undefined) continue;
        const title = `@Leader ${wrapper.name}.${key}`;
        if (wrapper.isTransient || !wrapper.isDependencyTreeStatic())
          throw new TypeError(`${title} must be in a class with the default scope`);
        const { name, options } = candidacy;
        const lead: Lead = async (term) => instance[key](term);
        const jobs = election(this.#redlock, name, options);
        campaigns.push(() => this.#campaign(jobs, title, lead));
      }
    }
    this.#campaigns = campaigns.map((start) => start());
  }

  /** Ends all terms, and waits for their methods, at most until their locks have ended. */
  async beforeApplicationShutdown(): Promise<void> {
    const leftMs = Math.max(0, ...[...this.#terms].map((term) => term.remainingMs()));
    this.#stop.abort();
    await new Promise<void>((resolve) => {
      const cancel = this.#redlock.clock.startTimer(leftMs, resolve);
      void Promise.all(this.#campaigns).then(() => {
        cancel();
        resolve();
      });
    });
  }

  /** Never rejects. */
  async #campaign(jobs: Election, title: string, lead: Lead): Promise<void> {
    try {
      for await (const term of jobs.campaign({ signal: this.#stop.signal })) {
        this.#terms.add(term);
        await lead(term).catch((error: unknown) => {
          if (!term.signal.aborted) this.#logger.error(`${title} has failed`, error);
        });
        this.#terms.delete(term);
      }
    } catch (error) {
      this.#logger.error(`${title} stands for no more elections`, error);
    }
  }
}
