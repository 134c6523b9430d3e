/** Lets the time of a recorded run pass: each sentence about it stays as long as reading it takes. */
import type { Sentence } from "./captions.ts";
import type { TimeScale } from "./time-scale.ts";

/** The run that plays. */
export interface Playing {
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

function playFrames({ scale, atMs, sentenceAt, move }: Playing): () => void {
  let previous: number | undefined;
  let frame = requestAnimationFrame(play);
  function play(now: number): void {
    const seconds = Math.min(longestFrameS, (now - (previous ?? now)) / 1000);
    previous = now;
    frame = requestAnimationFrame(play);
    move(after(atMs(), seconds));
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

function playSentences({ atMs, sentenceAt, move }: Playing): () => void {
  let timer = setTimeout(play, 0);
  function play(): void {
    const { untilMs } = sentenceAt(atMs());
    timer = setTimeout(play, sentenceAt(untilMs).readingS * 1000);
    move(untilMs);
  }
  return () => clearTimeout(timer);
}
