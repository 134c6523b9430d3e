/** What a measured process can be asked to do. Everything that crosses is plain data. */

import type { Settings } from "../contenders/contender.ts";
import type { Sent } from "../measure/sent.ts";

/** The calls, by name. */
export interface Calls {
  /** Loads a contender, and connects it. */
  open(request: OpenRequest): Promise<void>;
  /** Closes what was opened. */
  close(): Promise<void>;
  /** Acquires and releases keys that nobody else wants. */
  cycle(request: CycleRequest): Promise<CycleOutcome>;
  /** Lets workers want one key. */
  contend(request: ContendRequest): Promise<ContendOutcome>;
  /** Holds many locks at once. */
  hold(request: HoldRequest): Promise<HoldOutcome>;
  /** Counts what a lock takes. */
  count(request: CountRequest): Promise<CountOutcome>;
  /** Acquires one lock, and tells when, on the clock that all processes of the machine share. */
  acquireOne(request: { readonly key: string; readonly ttlMs: number }): Promise<number>;
  /** Releases that lock, and tells when it began to. */
  releaseOne(): Promise<number>;
}

export interface OpenRequest {
  readonly contender: string;
  readonly ports: readonly number[];
  /** See {@link Settings.isPatient}. */
  readonly isPatient: boolean;
}

export interface CycleRequest {
  /** What the names of the keys begin with. */
  readonly prefix: string;
  /** How many go on at the same time. */
  readonly workers: number;
  /** How many keys each lock covers. */
  readonly keysPerLock: number;
  readonly durationMs: number;
}

export interface CycleOutcome extends Usage {
  readonly seconds: number;
  /** Pairs of acquire and release. */
  readonly locks: number;
  readonly failed: number;
  /** Operations that had not settled a good while after the end. */
  readonly stuck: number;
  readonly acquireMs: Spread;
  readonly pairMs: Spread;
}

export interface Spread {
  readonly p50: number;
  readonly p99: number;
}

/** What a process has used. */
export interface Usage {
  /** Microseconds of processor time, of the process itself and of the kernel for it. */
  readonly cpuUs: number;
  /** Bytes of the JavaScript heap. */
  readonly allocatedBytes: number;
}

export interface ContendRequest {
  readonly key: string;
  readonly workers: number;
  readonly holdMs: number;
  readonly durationMs: number;
}

export interface ContendOutcome extends Usage {
  readonly seconds: number;
  /** How many locks each worker had. */
  readonly locks: readonly number[];
  /** All locks, those included that came when the time was over: what was used was used for them, too. */
  readonly settledLocks: number;
  /** How long each call took to settle; at the end, how long those waited who still did. */
  readonly waitsMs: readonly number[];
  readonly failed: number;
  /** Workers who still waited a good while after the end. */
  readonly stuck: number;
  /** Commands that were sent. */
  readonly commands: number;
}

export interface HoldRequest {
  readonly prefix: string;
  readonly locks: number;
}

export interface HoldOutcome {
  /** For each lock. */
  readonly heapBytes: number;
  /** Timers that run for each lock. */
  readonly timers: number;
}

export interface CountRequest {
  readonly prefix: string;
  /** How many locks are acquired in one tick, and released in one. */
  readonly atOnce: number;
  /** How often. */
  readonly times: number;
}

export interface CountOutcome extends Sent {
  readonly locks: number;
  readonly timers: number;
  readonly promises: number;
}

/** How long locks are made for where nothing else is said, in milliseconds. */
export const ttlMs = 10_000;

/** A call on its way. */
export interface Call {
  readonly id: number;
  readonly name: keyof Calls;
  readonly request: unknown;
}

/** What comes back. */
export type Answer =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: string };
