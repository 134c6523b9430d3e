/** The size of a run. */
export interface Scale {
  readonly isQuick: boolean;
  /** The number of rounds, unless a workload needs fewer. */
  readonly rounds: number;
  /** The duration of a slice at full speed, and of the unmeasured time before it. */
  readonly sliceMs: number;
  readonly settleMs: number;
  /** The duration of the warm-up for new work, which is longer while the process still gets faster. */
  readonly warmUpMsMin: number;
  readonly warmUpMsMax: number;
  /** How long workers contend. */
  readonly contestMs: number;
  /** The number of hand-overs, and the time limit for them. */
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

/** For single stores: longer slices, because a lock that waits for a disk takes longer, and shorter contests. */
export const fullStores: Scale = { ...full, sliceMs: 600, warmUpMsMin: 1_000, warmUpMsMax: 2_000, contestMs: 700 };

export const quickStores: Scale = { ...quick, sliceMs: 400, warmUpMsMin: 500, warmUpMsMax: 1_000, contestMs: 400 };
