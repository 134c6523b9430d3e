import { AsyncLocalStorage } from "node:async_hooks";
import { type JointSet, type LockNode, Redlock, type RedlockOptions } from "@holdfast/core";
import { Nesting } from "@holdfast/core/nesting";
import { assertOptions, checkType } from "@holdfast/core/node";
import {
  type DynamicModule,
  type FactoryProvider,
  Inject,
  Module,
  type ModuleMetadata,
  type OnApplicationShutdown,
} from "@nestjs/common";
import { DiscoveryModule, DiscoveryService } from "@nestjs/core";
import { HoldfastHealthIndicator } from "./health-indicator.ts";
import { Leaders } from "./leader.ts";

/** The options of {@link HoldfastModule}: those of the `Redlock`, and its servers. */
export interface HoldfastOptions extends RedlockOptions {
  /** The lock servers, as for `Redlock`. */
  readonly nodes: readonly LockNode[] | JointSet;
  /** Called on shutdown, after the `Redlock` is closed: closes the clients of the lock servers. Default: nothing. */
  readonly close?: (() => unknown) | undefined;
  /**
   * Refuses at once a call that would wait for a lock around it, as for `Redlock`. Services call each other, so the default is
   * a `Nesting` of its own.
   */
  readonly nesting?: Nesting | undefined;
}

/** The options of {@link HoldfastModule.forRootAsync}, as for other modules of Nest. */
export interface HoldfastAsyncOptions {
  /** The modules that export what is injected. */
  readonly imports?: ModuleMetadata["imports"];
  /** The providers whose instances the factory gets. */
  readonly inject?: FactoryProvider["inject"];
  /** Returns the options, or a promise of them. */
  readonly useFactory: FactoryProvider<HoldfastOptions>["useFactory"];
}

/** What injects the options. */
const optionsToken = Symbol("HoldfastOptions");

/**
 * Provides one `Redlock` to all modules, and a {@link HoldfastHealthIndicator}. Runs the `@Leader` methods of the
 * application. On shutdown, when requests in progress have ended, it closes the `Redlock`: call `app.enableShutdownHooks()`.
 *
 * @example
 * ```ts
 * import { HoldfastModule } from "@holdfast/nest";
 *
 * const imports = [HoldfastModule.forRoot({ nodes: [memoryNode()] })]; // of your AppModule
 * console.log(imports.length);
 * ```
 */
@Module({})
export class HoldfastModule implements OnApplicationShutdown {
  @Inject(optionsToken) private readonly options!: HoldfastOptions;
  @Inject(Redlock) private readonly redlock!: Redlock;

  /**
   * Returns the module for these servers.
   *
   * @param options see {@link HoldfastOptions}. Bad ones make the start of the application fail, with a `TypeError` or a
   *   `RangeError` that names the option
   *
   * @example
   * ```ts
   * import { HoldfastModule } from "@holdfast/nest";
   *
   * const locks = HoldfastModule.forRoot({ nodes: [memoryNode()], ttlMs: 5_000 });
   * console.log(locks.module); // one of the imports of your AppModule
   * ```
   */
  static forRoot(options: HoldfastOptions): DynamicModule {
    return moduleOf({ useFactory: () => options });
  }

  /**
   * Returns the module for servers that a factory provides when the application starts.
   *
   * @param options see {@link HoldfastAsyncOptions}
   * @throws {TypeError} for an unknown option
   *
   * @example
   * ```ts
   * import { HoldfastModule } from "@holdfast/nest";
   *
   * const locks = HoldfastModule.forRootAsync({ useFactory: async () => ({ nodes: [memoryNode()] }) });
   * console.log(locks.module); // one of the imports of your AppModule
   * ```
   */
  static forRootAsync(options: HoldfastAsyncOptions): DynamicModule {
    assertOptions(options, ["imports", "inject", "useFactory"], "forRootAsync");
    return moduleOf(options);
  }

  /** Closes the `Redlock`, and then the clients. Nest calls this after the requests in progress have ended, and their locks. */
  async onApplicationShutdown(): Promise<void> {
    await this.redlock.close();
    await this.options.close?.();
  }
}

function moduleOf({ imports = [], inject = [], useFactory }: HoldfastAsyncOptions): DynamicModule {
  checkType("useFactory", "function", useFactory);
  return {
    module: HoldfastModule,
    global: true,
    imports: [...imports, DiscoveryModule],
    providers: [
      { provide: optionsToken, inject, useFactory },
      { provide: Redlock, inject: [optionsToken], useFactory: open },
      {
        provide: Leaders,
        inject: [Redlock, DiscoveryService],
        useFactory: (redlock: Redlock, discovery: DiscoveryService) => new Leaders(redlock, discovery),
      },
      {
        provide: HoldfastHealthIndicator,
        inject: [Redlock],
        useFactory: (redlock: Redlock) => new HoldfastHealthIndicator(redlock),
      },
    ],
    exports: [Redlock, HoldfastHealthIndicator],
  };
}

function open({ nodes, close, ...options }: HoldfastOptions): Redlock {
  if (close !== undefined) checkType("close", "function", close);
  const { nesting = new Nesting(new AsyncLocalStorage()) } = options;
  return new Redlock(nodes, { ...options, nesting });
}
