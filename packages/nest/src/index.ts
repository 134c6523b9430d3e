/** Distributed locks for NestJS: a module that provides the `Redlock`, and decorators for methods. */

export { HoldfastHealthIndicator, type LocksHealth } from "./health-indicator.ts";
export { Leader } from "./leader.ts";
export { currentLock, Locked } from "./locked.ts";
export { type HoldfastAsyncOptions, HoldfastModule, type HoldfastOptions } from "./module.ts";
