/** Servers whose time of day is set while they run. */
import { atBareMajority } from "./bare-majority.ts";
import type { Nemesis, Stage } from "./nemesis.ts";

/** Far more than a ttl. */
const jumpSeconds = 3_600;

export const clockNemeses: readonly Nemesis[] = [
  {
    name: "clock-forward",
    description: "a server of a bare majority has its clock set an hour ahead: its claims end at once",
    kind: "lock-breaking",
    clocks: true,
    ...atBareMajority({
      strike: (stage, victim) => stage.fromNowOn(victim.name, "clock + 1 h", () => victim.clock?.setAhead(jumpSeconds)),
    }),
    reset: setRight,
  },
  {
    name: "clock-back",
    description: "a server of a bare majority has its clock set an hour back: its claims last longer",
    kind: "survivable",
    clocks: true,
    ...atBareMajority({
      strike: (stage, victim) =>
        stage.fromNowOn(victim.name, "clock − 1 h", () => victim.clock?.setAhead(-jumpSeconds)),
    }),
    reset: setRight,
  },
];

/** Only while nobody holds the lock: setting a clock right that is behind is setting it ahead. */
async function setRight({ nodes }: Stage): Promise<void> {
  for (const { clock } of nodes) await clock?.setAhead(0);
}
