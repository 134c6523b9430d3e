/** The calls of a measured process. All arguments and results are plain data. */
import type { Address } from "@holdfast/app-kit/clients";
import type { Figures } from "../measure/measures.ts";
import type { Sent } from "../measure/sent.ts";

/** The functions that a measured process serves. */
export interface Calls {
  /** Loads a contender and connects it. */
  open(request: OpenRequest): Promise<void>;
  /** Acquires and releases keys that no other client wants. */
  cycle(request: CycleRequest): Promise<CycleOutcome>;
  /** Acquires and releases a few keys, one after another. */
  first(request: FirstRequest): Promise<FirstOutcome>;
  /** Lets workers contend for the same keys. */
  contend(request: ContendRequest): Promise<ContendOutcome>;
  /** Counts the commands, writes, timers and promises of a lock. */
  count(request: CountRequest): Promise<CountOutcome>;
  /** Measures how waiting behaves where it is hard, without the client. */
  wait(order: WaitOrder, servers: readonly Target[]): Promise<Figures>;
  /** Acquires one lock. Resolves with the time, on the clock that all processes share. */
  acquireOne(request: { readonly key: string; readonly ttlMs: number }): Promise<number>;
  /** Releases that lock. Resolves with the time at which the release began. */
  releaseOne(): Promise<number>;
}

export interface OpenRequest {
  readonly contender: string;
  /** See {@link Connect}. */
  readonly addresses: readonly Address[];
  /** See {@link Settings.isPatient}. */
  readonly isPatient: boolean;
  /** The number of the client in the process. Default: 0. */
  readonly client?: number;
}

export interface CycleRequest {
  readonly keyPrefix: string;
  /** How many keys one lock covers. */
  readonly keysPerLock: number;
  /** How many pairs of acquire and release are in flight at a time. */
  readonly workers: number;
  readonly durationMs: number;
}

export interface CycleOutcome {
  readonly seconds: number;
  readonly pairs: number;
  readonly failed: number;
  /** Operations in flight a second after the end. */
  readonly stuck: number;
  readonly pairP50Ms: number;
  readonly pairP99Ms: number;
  /** Processor time of this process, its kernel time included. */
  readonly cpuUs: number;
}

export interface FirstRequest {
  readonly keyPrefix: string;
  readonly pairs: number;
}

export interface FirstOutcome {
  readonly tookMs: number;
  readonly cpuUs: number;
}

export interface ContendRequest {
  /** The number of the client in the process. Default: 0. */
  readonly client?: number;
  readonly keys: readonly string[];
  readonly workers: number;
  readonly holdMs: number;
  readonly durationMs: number;
}

export interface ContendOutcome {
  readonly seconds: number;
  /** The number of locks of each worker. */
  readonly locks: readonly number[];
  /** All locks, including those granted after the end. */
  readonly settledLocks: number;
  /** The duration of each call; for calls in flight at the end, the time until then. */
  readonly waitsMs: readonly number[];
  readonly failed: number;
  /** Workers that were still waiting a second after the end. */
  readonly stuck: number;
  /** Redis commands sent. */
  readonly commands: number;
  readonly cpuUs: number;
}

export interface CountRequest {
  readonly keyPrefix: string;
  /** How many locks are acquired in one tick, and released in one. */
  readonly atOnce: number;
  readonly times: number;
}

export interface CountOutcome extends Sent {
  readonly locks: number;
  readonly timers: number;
  readonly promises: number;
}

/** How a crowd of waiters ends. */
export type Crowd = "sets" | "time-outs" | "aborts" | "release";

/** What a process measures that waits for locks. */
export type WaitOrder =
  | { readonly what: "stall"; readonly crowd: Crowd }
  | { readonly what: "tries"; readonly maxWaiters: number }
  | { readonly what: "pauses" }
  | { readonly what: "hang"; readonly ms: number };

/** A real server. */
export interface Target {
  readonly port: number;
  readonly pid: number;
}

/** The ttl of every lock. */
export const ttlMs = 10_000;
