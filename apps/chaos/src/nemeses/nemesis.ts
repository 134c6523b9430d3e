import type { Dice } from "@holdfast/app-kit/dice";
import type { ChaosNode } from "../world/node.ts";
import type { ChaosClient, Listener } from "../world/world.ts";

/** A kind of fault, done on purpose to real servers, processes and connections. */
export interface Nemesis {
  readonly name: string;
  /** What it does, in one line. */
  readonly description: string;
  /**
   * Under a survivable one, mutual exclusion must hold. A lock-breaking one may break that of any lock that times out: how
   * often it does is reported. Under each of them, tokens must grow and no fenced write may be lost.
   */
  readonly kind: "survivable" | "lock-breaking";
  /** How many nodes it strikes: the largest minority, one more, all, or none. */
  readonly nodes: "none" | "minority" | "minority and one" | "all";
  /** How many clients it strikes. */
  readonly clients: number;
  /** Whether clients hold the lock for most of the ttl, so that the attack can come in the middle of it. */
  readonly longVisits?: boolean;
  /** Whether nodes are guarded against servers that restarted. */
  readonly guarded?: boolean;
  /** Whether it sets the clocks of servers. */
  readonly clocks?: boolean;
  /** Whether the report has a picture of it. */
  readonly pictured?: boolean;
  /** Does it. What is not healed when it returns is healed then. */
  attack(stage: Stage): Promise<void>;
  /** Puts back what must not change while locks are held. */
  reset?(stage: Stage): Promise<void>;
}

/** Where an attack takes place. */
export interface Stage {
  /** The nodes that it strikes. */
  readonly nodes: readonly ChaosNode[];
  /** The clients that it strikes. */
  readonly clients: readonly ChaosClient[];
  readonly ttlMs: number;
  /** For how long a fault should last, if nothing else ends it. */
  readonly durationMs: number;
  readonly dice: Dice;
  /** Begins a fault that lasts until `heal()`. */
  begin(lane: string, label: string, begin: () => Step, end: () => Step): Promise<void>;
  /** Does something that is a fault as long as it takes. */
  during(lane: string, label: string, action: () => Step): Promise<void>;
  /** Does something that lasts until the nemesis is reset. */
  fromNowOn(lane: string, label: string, action: () => Step): Promise<void>;
  /** Ends all faults. Safe to call more than once. */
  heal(): Promise<void>;
  /** Lets pass `durationMs`, and more until a lock was granted, as there is a majority left that can grant it. */
  last(): Promise<void>;
  /** Lets some time pass. */
  sleep(ms: number): Promise<void>;
  /**
   * Waits for a message of a client.
   *
   * @throws {Stuck} when that takes too long
   */
  until(what: string, isIt: MessageTest): Promise<void>;
  /** Waits for a lock whose attempt begins after now. */
  nextGrant(what: string): Promise<void>;
}

/** Something to be done, at once or after a while. */
export type Step = Promise<unknown> | unknown;
/** Tells whether this is the message that is waited for. */
export type MessageTest = (...message: Parameters<Listener>) => boolean;

/** Nothing happened that should have. */
export class Stuck extends Error {
  override readonly name = "Stuck";
}
