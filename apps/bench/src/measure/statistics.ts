/** The value below which this share of the sorted values lies, interpolated between neighbours. NaN without values. */
export function quantileOf(sorted: ArrayLike<number>, share: number): number {
  const position = share * (sorted.length - 1);
  const below = sorted[Math.floor(position)] ?? Number.NaN;
  const above = sorted[Math.ceil(position)] ?? Number.NaN;
  return below + (above - below) * (position - Math.floor(position));
}

/** A median with its quartiles. */
export interface Quartiles {
  readonly low: number;
  readonly median: number;
  readonly high: number;
}

/** The quartiles of values in any order. */
export function quartilesOf(values: readonly number[]): Quartiles {
  const sorted = values.toSorted((a, b) => a - b);
  return { low: quantileOf(sorted, 0.25), median: quantileOf(sorted, 0.5), high: quantileOf(sorted, 0.75) };
}

/**
 * Jain's fairness index of shares: 1 if all are equal, 1/n if one of n has everything (Jain, Chiu and Hawe, 1984). NaN if the
 * sum is 0.
 */
export function jainOf(shares: readonly number[]): number {
  const sum = shares.reduce((total, share) => total + share, 0);
  const squares = shares.reduce((total, share) => total + share * share, 0);
  return sum ** 2 / (shares.length * squares);
}
