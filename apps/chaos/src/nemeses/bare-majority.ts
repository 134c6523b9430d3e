import type { Stage } from "../attack/stage.ts";
import type { ChaosNode } from "../world/node.ts";
import type { Nemesis } from "./nemesis.ts";
import { beginOn, onProxies, reconnect } from "./strikes.ts";

/** The fault of the node beyond the minority. */
export interface Blow {
  /** Prepares the victim. */
  prepare?(victim: ChaosNode): Promise<unknown>;
  /** Called when the minority is cut off, before the next lock is granted. */
  beforeGrant?(victim: ChaosNode): Promise<unknown>;
  strike(stage: Stage, victim: ChaosNode): Promise<void>;
}

/**
 * Strikes at the worst moment for a lock. A minority is cut off, so that the lock rests on a bare majority. Then one node of
 * that majority is struck, and the minority, which never knew of the lock, comes back. If the victim forgets the lock, too,
 * these nodes are a majority that can grant it again.
 */
export function atBareMajority(blow: Blow): Pick<Nemesis, "nodes" | "clients" | "longVisits" | "attack"> {
  return {
    nodes: "minority and one",
    clients: 0,
    longVisits: true,
    async attack(stage) {
      const [victim, ...minority] = stage.nodes;
      if (victim === undefined) return;
      await blow.prepare?.(victim);
      const cutOff = onProxies((proxy) => proxy.stop());
      await beginOn(stage, minority, "unreachable", cutOff, reconnect);
      await blow.beforeGrant?.(victim);
      await stage.nextGrant("a lock of a bare majority");
      await blow.strike(stage, victim);
    },
  };
}
