/** How long readers need for the sentences about a run. */
import type { Subject } from "./address.ts";
import type { Caption } from "./captions.ts";
import { storyTexts } from "./story-texts.ts";

/** Returns the sentence with which a run begins. */
export function introOf(subject: Subject): string {
  if (subject.kind === "play") return "Play, stop where you like, and break something with a button “Faults”.";
  if (subject.kind === "seed") return "The simulation has drawn what the clients do, and what goes wrong.";
  return storyTexts.find(({ id }) => id === subject.id)?.line ?? "";
}

/** The time in a run during which a sentence is shown, and how long reading it takes. */
export interface Sentence {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly readingS: number;
}

/** Subtitles have as many characters a second. */
const charactersPerS = 20;
const shortestS = 1.5;
/** The first sentence has been read before the run plays, and the last one stays. */
const edgeS = 1;

/**
 * Returns the sentence to read at a moment of a run.
 *
 * @param captions the sentences, of which the first one is there from the start
 */
export function sentenceAt(captions: readonly Caption[], endedAtMs: number, atMs: number): Sentence {
  const index = captions.findLastIndex(({ fromMs }) => fromMs <= atMs);
  const { fromMs = 0, text = "" } = captions[index] ?? {};
  const isEdge = index === 0 || index === captions.length - 1;
  const readingS = isEdge ? edgeS : Math.max(shortestS, text.length / charactersPerS);
  return { fromMs, untilMs: captions[index + 1]?.fromMs ?? endedAtMs, readingS };
}
