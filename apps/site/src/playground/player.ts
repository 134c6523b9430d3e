/** Lets the time of a recorded run pass. */
import type { Sentence } from "./reading.ts";
import type { TimeScale } from "./time-scale.ts";

/** How fast time runs. */
export type PaceName = keyof typeof paces;

/** The paces, by name: multiples of the one at which each sentence about the run stays as long as reading it takes. */
export const paces = { slow: 0.4, "as you read": 1, fast: 4 };

/** The run that plays. */
export interface Playing {
  /** The pace now. */
  pace(): PaceName;
  /** The line of time. */
  scale(): TimeScale;
  /** The cursor, in milliseconds. */
  atMs(): number;
  /** The sentence to read at a moment. */
  sentenceAt(atMs: number): Sentence;
  /** Moves the cursor. */
  move(toMs: number): void;
}

/** The longest time that passes between two frames, so that a hidden page does not leap when it is seen again. */
const longestFrameS = 0.1;

/** Starts to move the cursor. Returns a function that stops it. Readers who prefer less motion see steps, not flights. */
export function startPlaying(playing: Playing): () => void {
  return prefersLessMotion() ? playSentences(playing) : playFrames(playing);
}

/** Whether the reader prefers less motion. */
export function prefersLessMotion(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

function playFrames({ pace, scale, atMs, sentenceAt, move }: Playing): () => void {
  let previous: number | undefined;
  let frame = requestAnimationFrame(play);
  function play(now: number): void {
    const seconds = Math.min(longestFrameS, (now - (previous ?? now)) / 1000);
    previous = now;
    frame = requestAnimationFrame(play);
    move(after(atMs(), seconds * paces[pace()]));
  }
  /** Returns the moment that comes after another one when a reader has read for so many seconds. */
  function after(ms: number, seconds: number): number {
    const { fromMs, untilMs, readingS } = sentenceAt(ms);
    const { positionOf, timeAt } = scale();
    const [px, endPx] = [positionOf(ms), positionOf(untilMs)];
    const pxPerS = (endPx - positionOf(fromMs)) / readingS;
    if (px + seconds * pxPerS < endPx) return timeAt(px + seconds * pxPerS);
    return untilMs <= ms ? ms : after(untilMs, seconds - (endPx - px) / pxPerS);
  }
  return () => cancelAnimationFrame(frame);
}

function playSentences({ pace, atMs, sentenceAt, move }: Playing): () => void {
  let timer = setTimeout(play, 0);
  function play(): void {
    const { untilMs } = sentenceAt(atMs());
    timer = setTimeout(play, (sentenceAt(untilMs).readingS / paces[pace()]) * 1000);
    move(untilMs);
  }
  return () => clearTimeout(timer);
}
