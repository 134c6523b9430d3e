import type { Stage } from "../attack/stage.ts";

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
  /** Attacks. Faults that it has not healed are healed afterwards. */
  attack(stage: Stage): Promise<void>;
  /** Restores what must not change while locks are held. */
  reset?(stage: Stage): Promise<void>;
}
