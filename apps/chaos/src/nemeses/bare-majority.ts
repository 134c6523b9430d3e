import type { ChaosNode } from "../world/node.ts";
import type { Nemesis, Stage } from "./nemesis.ts";
import { isolate } from "./network.ts";

/** What befalls the one node too many. */
export interface Blow {
  /** Makes the victim ready. */
  prepare?(victim: ChaosNode): Promise<unknown>;
  /** Is called when the minority is cut off, before the lock is granted that is struck. */
  beforeGrant?(victim: ChaosNode): Promise<unknown>;
  strike(stage: Stage, victim: ChaosNode): Promise<void>;
}

/**
 * The hardest moment for a lock: a minority is cut off, so that it rests on the fewest nodes that will do; then one of
 * those is struck, and the minority comes back, which knows nothing of the lock. If the victim forgets it, too, the two
 * are a majority that can grant it once more.
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
      const cutOff = (node: ChaosNode): Promise<void> =>
        stage.begin(
          node.name,
          "unreachable",
          () => isolate(node),
          () => node.proxy.start(),
        );
      await Promise.all(minority.map(cutOff));
      await blow.beforeGrant?.(victim);
      await stage.nextGrant("a lock of a bare majority");
      await blow.strike(stage, victim);
    },
  };
}
