/** How much is measured. */
export interface Scale {
  readonly isQuick: boolean;
  /** How often each cell is measured, unless its workload needs less. */
  readonly rounds: number;
  /** How long a slice at full speed is, and the unmeasured time before it. */
  readonly sliceMs: number;
  readonly settleMs: number;
  /** How long a process is warmed up for work that is new to it: longer while it still gets faster. */
  readonly warmUpMsMin: number;
  readonly warmUpMsMax: number;
  /** How long workers contend. */
  readonly contestMs: number;
  /** How many hand-overs are measured, and for how long at most. */
  readonly handOvers: number;
  readonly handOverMs: number;
}

export const full: Scale = {
  isQuick: false,
  rounds: 5,
  sliceMs: 450,
  settleMs: 100,
  warmUpMsMin: 2_000,
  warmUpMsMax: 4_000,
  contestMs: 2_000,
  handOvers: 100,
  handOverMs: 4_000,
};

export const quick: Scale = {
  isQuick: true,
  rounds: 2,
  sliceMs: 300,
  settleMs: 80,
  warmUpMsMin: 1_000,
  warmUpMsMax: 2_000,
  contestMs: 1_500,
  handOvers: 40,
  handOverMs: 1_600,
};
