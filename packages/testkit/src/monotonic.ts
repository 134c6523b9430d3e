/**
 * Returns milliseconds on the monotonic clock of the machine. All processes share its origin, so that times from
 * different processes are comparable.
 */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
