/** The size of a run. */
export interface Scale {
  readonly isQuick: boolean;
  /** The number of rounds, unless a workload needs fewer. */
  readonly rounds: number;
  /** The duration of a slice at full speed, and of the unmeasured time before it. */
  readonly sliceMs: number;
  readonly settleMs: number;
  /** How long a process works before its first slice: V8 interprets code first, and compiles it later. */
  readonly warmUpMs: number;
  /** How long workers contend. */
  readonly contestMs: number;
  /** The number of hand-overs, and the time limit for them. */
  readonly handOvers: number;
  readonly handOverMs: number;
}

export const full: Scale = {
  isQuick: false,
  rounds: 9,
  sliceMs: 300,
  settleMs: 100,
  warmUpMs: 2_500,
  contestMs: 2_000,
  handOvers: 100,
  handOverMs: 4_000,
};

export const quick: Scale = {
  isQuick: true,
  rounds: 2,
  sliceMs: 200,
  settleMs: 50,
  warmUpMs: 800,
  contestMs: 700,
  handOvers: 20,
  handOverMs: 800,
};

/** For single stores: longer slices, because a lock that waits for a disk takes longer, and shorter contests. */
export const fullStores: Scale = { ...full, rounds: 4, sliceMs: 600, warmUpMs: 1_000, contestMs: 700 };

export const quickStores: Scale = { ...quick, sliceMs: 400, settleMs: 80, contestMs: 400 };
