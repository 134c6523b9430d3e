/** A line of time on which quiet stretches are compressed, so that messages of one millisecond and pauses of seconds fit. */
export type TimeScale = ReturnType<typeof timeScale>;

/**
 * Returns a scale on which the space between two neighbouring steps grows with the logarithm of the time between them.
 *
 * @param steps the moments at which something happens, sorted
 * @example
 * const scale = timeScale([0, 1, 2000]);
 * scale.positionOf(1000); // in the middle of the last stretch
 */
export function timeScale(steps: readonly number[]) {
  let lengthPx = 0;
  const positions = steps.map((atMs, index) => {
    lengthPx += widthOf(atMs - (steps[index - 1] ?? atMs));
    return lengthPx;
  });
  return {
    /** The length of the line, in pixels. */
    lengthPx,
    /** Returns the position of a moment on the line. */
    positionOf: (atMs: number) => interpolate(atMs, steps, positions),
    /** Returns the moment at a position. */
    timeAt: (positionPx: number) => interpolate(positionPx, positions, steps),
  };
}

/** Returns the width of a stretch without events, in pixels: short ones are nearly linear, long ones logarithmic. */
function widthOf(gapMs: number): number {
  return 26 * (1 - Math.exp(-gapMs / 0.8)) + 9 * Math.log2(1 + gapMs);
}

/** Returns the index of the last entry that is not above the value; 0 if all are. */
export function lastIndexUpTo(sorted: readonly number[], value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as number) <= value) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

function interpolate(value: number, from: readonly number[], to: readonly number[]): number {
  const index = lastIndexUpTo(from, value);
  const [fromStart = 0, toStart = 0] = [from[index], to[index]];
  const [fromEnd = fromStart, toEnd = toStart] = [from[index + 1], to[index + 1]];
  if (fromEnd === fromStart) return toStart;
  const part = Math.min(1, Math.max(0, (value - fromStart) / (fromEnd - fromStart)));
  return toStart + part * (toEnd - toStart);
}
