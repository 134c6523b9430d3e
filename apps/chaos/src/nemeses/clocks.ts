/** Attacks on the clocks of servers. */
import type { Stage } from "../attack/stage.ts";
import { atBareMajority } from "./bare-majority.ts";
import type { Nemesis } from "./nemesis.ts";
import { isAhead } from "./took-hold.ts";

/** Far more than a ttl. */
const jumpSeconds = 3_600;

export const clockNemeses: readonly Nemesis[] = [
  {
    name: "clock-forward",
    description: "a server of a bare majority has its clock set an hour ahead: its claims end at once",
    kind: "lock-breaking",
    ...setting(jumpSeconds, "clock + 1 h"),
  },
  {
    name: "clock-back",
    description: "a server of a bare majority has its clock set an hour back: its claims last longer",
    kind: "survivable",
    ...setting(-jumpSeconds, "clock − 1 h"),
  },
];

function setting(seconds: number, label: string) {
  return {
    ...atBareMajority({
      strike: (stage, victim) =>
        stage.fromNowOn(victim.name, label, async () => {
          await victim.clock?.setAhead(seconds);
          await isAhead(victim, seconds);
        }),
    }),
    clocks: true,
    /** Only while no client holds the lock: correcting a clock that is behind means setting it ahead. */
    async reset({ nodes }: Stage): Promise<void> {
      for (const { clock } of nodes) await clock?.setAhead(0);
    },
  };
}
