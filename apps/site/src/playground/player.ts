/** Lets the time of a recorded run pass. */
import type { TimeScale } from "./time-scale.ts";

/** How fast time runs. */
export type PaceName = keyof typeof paces;

/** A pace along the line of time, which is slow while messages fly, or a constant one. */
export type Pace = { readonly pxPerSecond: number } | { readonly msPerSecond: number };

/** The paces, by name. At the first one, each sentence about the run stays as long as reading it takes. */
export const paces = {
  "as you read": { pxPerSecond: 100 },
  slow: { pxPerSecond: 40 },
  normal: { pxPerSecond: 100 },
  fast: { pxPerSecond: 300 },
  "1 ms": { msPerSecond: 1 },
  "10 ms": { msPerSecond: 10 },
  "100 ms": { msPerSecond: 100 },
  "1000 ms": { msPerSecond: 1000 },
} satisfies Record<string, Pace>;

/** The run that plays. */
export interface Playing {
  /** The pace now. */
  pace(): PaceName;
  /** The line of time. */
  scale(): TimeScale;
  /** The cursor, in milliseconds. */
  atMs(): number;
  /** The moment at which a reader who prefers less motion looks next. */
  next(fromMs: number): number;
  /** Moves the cursor. */
  move(toMs: number): void;
}

/** The longest time that passes between two frames, so that a hidden page does not leap when it is seen again. */
const longestFrameS = 0.1;

/** Starts to move the cursor. Returns a function that stops it. Readers who prefer less motion see steps, not flights. */
export function startPlaying(playing: Playing): () => void {
  return prefersLessMotion() ? playSteps(playing) : playFrames(playing);
}

/** Whether the reader prefers less motion. */
export function prefersLessMotion(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

function playFrames({ pace, scale, atMs, move }: Playing): () => void {
  let previous: number | undefined;
  let frame = requestAnimationFrame(play);
  function play(now: number): void {
    const seconds = Math.min(longestFrameS, (now - (previous ?? now)) / 1000);
    previous = now;
    frame = requestAnimationFrame(play);
    move(after(seconds));
  }
  function after(seconds: number): number {
    const chosen: Pace = paces[pace()];
    if ("msPerSecond" in chosen) return atMs() + seconds * chosen.msPerSecond;
    return scale().timeAt(scale().positionOf(atMs()) + seconds * chosen.pxPerSecond);
  }
  return () => cancelAnimationFrame(frame);
}

function playSteps({ pace, scale, atMs, next, move }: Playing): () => void {
  const everyMs: Partial<Record<PaceName, number>> = { slow: 2000, fast: 400 };
  let timer = setTimeout(play, 0);
  function play(): void {
    const toMs = next(atMs());
    timer = setTimeout(play, pace() === "as you read" ? readingMs(toMs) : (everyMs[pace()] ?? 900));
    move(toMs);
  }
  function readingMs(fromMs: number): number {
    const { positionOf } = scale();
    return ((positionOf(next(fromMs)) - positionOf(fromMs)) / paces["as you read"].pxPerSecond) * 1000;
  }
  return () => clearTimeout(timer);
}
