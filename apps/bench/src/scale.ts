/** How much is measured: enough for figures to print, or enough to see. */
export interface Scale {
  /** How often each contender takes its turn at a workload of one process, and at one of several. */
  readonly rounds: { readonly alone: number; readonly together: number };
  /** How long after the start turns begin that are not of the first round. */
  readonly furtherRoundsMs: number;
  /** How long a turn at full speed is, and what goes before it unmeasured. */
  readonly turnMs: number;
  readonly warmUpMs: number;
  /** How long a process goes on with work that is new to it until it is measured: longer while it still gets faster. */
  readonly heatMsMin: number;
  readonly heatMsMax: number;
  /** How long workers contend. */
  readonly contestMs: number;
  /** How many hand-overs are measured, and for how long at the most. */
  readonly handOvers: number;
  readonly handOverMs: number;
  /** How many locks are held at once. */
  readonly heldLocks: number;
  /** Whether only the cases and the contenders run on which the targets rest. */
  readonly isQuick: boolean;
}

export const full: Scale = {
  rounds: { alone: 3, together: 1 },
  furtherRoundsMs: 34 * 60_000,
  turnMs: 500,
  warmUpMs: 200,
  heatMsMin: 2_000,
  heatMsMax: 4_000,
  contestMs: 5_000,
  handOvers: 60,
  handOverMs: 5_000,
  heldLocks: 10_000,
  isQuick: false,
};

export const quick: Scale = {
  rounds: { alone: 3, together: 1 },
  furtherRoundsMs: 95_000,
  turnMs: 300,
  warmUpMs: 100,
  heatMsMin: 1_800,
  heatMsMax: 3_000,
  contestMs: 1_500,
  handOvers: 25,
  handOverMs: 1_200,
  heldLocks: 2_000,
  isQuick: true,
};
