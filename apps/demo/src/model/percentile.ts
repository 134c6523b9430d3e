/**
 * The smallest of the values that at least this share of them do not exceed (nearest rank); null if there are none.
 *
 * @param share from 0 to 1
 */
export function percentile(values: readonly number[], share: number): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}
