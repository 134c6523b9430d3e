/* The types used here of two packages without types, or with types that NodeNext resolution does not find. */

declare module "redlock4" {
  import type { EventEmitter } from "node:events";
  import type { Redis } from "ioredis";

  class Redlock extends EventEmitter {
    static LockError: new (
      message?: string,
      attempts?: number,
    ) => Error & { readonly attempts: number };
    readonly driftFactor: number;
    readonly retryCount: number;
    readonly retryDelay: number;
    readonly retryJitter: number;
    constructor(clients: readonly Redis[], options?: Redlock.Options);
    lock(resource: string | readonly string[], ttl: number): PromiseLike<Redlock.Lock>;
    lockWithOptions(resource: string, ttl: number, options: Redlock.Options): PromiseLike<Redlock.Lock>;
  }
  namespace Redlock {
    interface Options {
      readonly driftFactor?: number;
      readonly retryCount?: number;
      readonly retryDelay?: number;
      readonly retryJitter?: number;
    }
    interface Lock {
      readonly value: string;
      readonly expiration: number;
      extend(ttl: number): PromiseLike<Lock>;
      unlock(): PromiseLike<void>;
    }
  }
  export default Redlock;
}

declare module "redlock5" {
  import type { EventEmitter } from "node:events";
  import type { Redis } from "ioredis";

  export interface Settings {
    readonly driftFactor: number;
    readonly retryCount: number;
    readonly retryDelay: number;
    readonly retryJitter: number;
    readonly automaticExtensionThreshold: number;
  }
  export interface Lock {
    readonly value: string;
    readonly expiration: number;
    extend(duration: number): Promise<Lock>;
    release(): Promise<unknown>;
  }
  export class ExecutionError extends Error {}
  export default class Redlock extends EventEmitter {
    readonly settings: Settings;
    constructor(clients: readonly Redis[], settings?: Partial<Settings>);
    acquire(resources: readonly string[], duration: number): Promise<Lock>;
    using<T>(resources: readonly string[], duration: number, routine: (signal: AbortSignal) => Promise<T>): Promise<T>;
  }
}
