/** How long readers need for the sentences about a run. */
import type { Subject } from "./address.ts";
import type { Caption } from "./captions.ts";
import { paces } from "./player.ts";
import { storyTexts } from "./story-texts.ts";
import { partedScale, type TimeScale } from "./time-scale.ts";

/** Returns the sentence with which a run begins. */
export function introOf(subject: Subject): string {
  if (subject.kind === "play") return "Play, stop where you like, and break something with a button “Faults”.";
  if (subject.kind === "seed") return "The simulation has drawn what the clients do, and what goes wrong.";
  return storyTexts.find(({ id }) => id === subject.id)?.line ?? "";
}

/** Subtitles have as many characters a second. */
const charactersPerS = 20;
const shortestS = 1.5;
/** The first sentence has been read before the run plays, and the last one stays. */
const edgeS = 1;

/**
 * Returns a scale on which each sentence stays as long as reading it takes.
 *
 * @param steps the moments at which something happens, sorted
 * @param captions the sentences, of which the first one is there from the start
 */
export function readingScale(steps: readonly number[], captions: readonly Caption[]): TimeScale {
  const secondsOf = ({ text }: Caption, index: number): number =>
    index === 0 || index === captions.length - 1 ? edgeS : Math.max(shortestS, text.length / charactersPerS);
  const parts = captions.map((caption, index) => {
    return { fromMs: caption.fromMs, lengthPx: secondsOf(caption, index) * paces["as you read"].pxPerSecond };
  });
  return partedScale(steps, parts);
}
