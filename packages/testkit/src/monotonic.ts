/**
 * Milliseconds on the monotonic clock of the machine. Its origin is the same for all processes, so that moments which
 * different workers have read can be compared.
 */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
