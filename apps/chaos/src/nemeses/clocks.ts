/** Attacks on the clocks of servers. */

import type { ChaosNode } from "../world/node.ts";
import { atBareMajority } from "./bare-majority.ts";
import type { Nemesis, Stage } from "./nemesis.ts";
import { isAhead } from "./took-hold.ts";

/** Far more than a ttl. */
const jumpSeconds = 3_600;

export const clockNemeses: readonly Nemesis[] = [
  {
    name: "clock-forward",
    description: "a server of a bare majority has its clock set an hour ahead: its claims end at once",
    kind: "lock-breaking",
    pictured: true,
    clocks: true,
    ...atBareMajority({
      strike: (stage, victim) => stage.fromNowOn(victim.name, "clock + 1 h", () => set(victim, jumpSeconds)),
    }),
    reset: setRight,
  },
  {
    name: "clock-back",
    description: "a server of a bare majority has its clock set an hour back: its claims last longer",
    kind: "survivable",
    clocks: true,
    ...atBareMajority({
      strike: (stage, victim) => stage.fromNowOn(victim.name, "clock − 1 h", () => set(victim, -jumpSeconds)),
    }),
    reset: setRight,
  },
];

async function set(node: ChaosNode, seconds: number): Promise<void> {
  await node.clock?.setAhead(seconds);
  await isAhead(node, seconds);
}

/** Only while no client holds the lock: correcting a clock that is behind means setting it ahead. */
async function setRight({ nodes }: Stage): Promise<void> {
  for (const { clock } of nodes) await clock?.setAhead(0);
}
