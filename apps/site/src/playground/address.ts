import { storyTexts } from "./story-texts.ts";

/** What a page of the playground shows: its state, all of which is in the address. */
export interface Address {
  /** The name of the story. */
  readonly story: string;
  /** What the reader has done to its nodes and clients. */
  readonly deeds: readonly Deed[];
  /** The moment at which the cursor is, in milliseconds. */
  readonly atMs: number;
}

/** Something that the reader has done to a node or a client at a moment. */
export interface Deed {
  /** The name of the action, such as `crash`. */
  readonly action: string;
  /** The node or client. */
  readonly target: string;
  readonly atMs: number;
}

/**
 * Reads the part of an address from `#` on. One without a story names the first one. Whether there is such a story, and
 * whether the deeds are possible, is found out when it is played.
 *
 * @example
 * ```ts
 * readAddress("#story=pause&t=120"); // the story at 120 ms
 * readAddress("#story=free&do=crash+C+30&do=pause+client+1+80.5"); // a crash of node C, and a pause of client 1
 * ```
 */
export function readAddress(hash: string): Address {
  const params = new URLSearchParams(hash.slice(1));
  const deeds = params.getAll("do").map((deed) => {
    const [action = "", ...words] = deed.split(" ");
    return { action, target: words.slice(0, -1).join(" "), atMs: Number(words.at(-1)) };
  });
  return { story: params.get("story") ?? storyTexts[0]?.id ?? "", deeds, atMs: Number(params.get("t")) || 0 };
}

/** Returns the part of an address from `#` on. `readAddress` reads the same from it. */
export function writeAddress({ story, deeds, atMs }: Address): string {
  const params = new URLSearchParams({ story });
  for (const deed of deeds) params.append("do", `${deed.action} ${deed.target} ${deed.atMs}`);
  if (atMs > 0) params.set("t", String(atMs));
  return `#${params}`;
}
