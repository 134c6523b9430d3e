import type { Dice } from "@holdfast/app-kit/dice";
import type { ClientMessage } from "../client/messages.ts";
import type { Client } from "../world/client.ts";
import type { ChaosNode } from "../world/node.ts";

/** A kind of fault that is injected into real servers, processes or connections. */
export interface Nemesis {
  readonly name: string;
  /** Describes it in one line. */
  readonly description: string;
  /**
   * Mutual exclusion must hold under a survivable nemesis. A lock-breaking one may break it for any lock that times out, and
   * the report counts how often. Under both, tokens must grow and no fenced write may be lost.
   */
  readonly kind: "survivable" | "lock-breaking";
  /** The nodes that it strikes: none, the largest minority, one more, or all. */
  readonly nodes: "none" | "minority" | "minority and one" | "all";
  /** The number of clients that it strikes. */
  readonly clients: number;
  /** Whether clients hold the lock for most of the ttl, so that the attack can strike during a lock. */
  readonly longVisits?: boolean;
  /** Whether nodes are guarded against servers that restarted. */
  readonly guarded?: boolean;
  /** Whether it sets the clocks of servers. */
  readonly clocks?: boolean;
  /** Whether the report has a picture of it. */
  readonly pictured?: boolean;
  /** Attacks. Faults that it has not healed are healed afterwards. */
  attack(stage: Stage): Promise<void>;
  /** Restores what must not change while locks are held. */
  reset?(stage: Stage): Promise<void>;
}

/** The stage of an attack. */
export interface Stage {
  /** The nodes that it strikes. */
  readonly nodes: readonly ChaosNode[];
  /** The clients that it strikes. */
  readonly clients: readonly Client[];
  readonly ttlMs: number;
  /** The duration of a fault, if nothing else ends it. */
  readonly durationMs: number;
  readonly dice: Dice;
  /** Starts a fault that lasts until `heal()`. */
  begin(lane: string, label: string, begin: () => Step, end: () => Step): Promise<void>;
  /** Runs an action that is a fault while it runs. */
  during(lane: string, label: string, action: () => Step): Promise<unknown>;
  /** Runs an action whose effect lasts until the nemesis is reset. */
  fromNowOn(lane: string, label: string, action: () => Step): Promise<void>;
  /** Ends all faults. Safe to call more than once. */
  heal(): Promise<void>;
  /** Waits for `durationMs`, and for a lock that the remaining majority grants. */
  last(): Promise<void>;
  /** Waits. */
  sleep(ms: number): Promise<void>;
  /**
   * Waits for a message of a client.
   *
   * @throws {Stuck} when the wait times out
   */
  until(what: string, isIt: MessageTest): Promise<void>;
  /** Waits for a lock whose attempt begins after now. */
  nextGrant(what: string): Promise<void>;
}

/** The result of an action. */
export type Step = Promise<unknown> | unknown;
/** Whether this is the expected message. */
export type MessageTest = (message: ClientMessage) => boolean;

/** A wait timed out. */
export class Stuck extends Error {
  override readonly name = "Stuck";
}
