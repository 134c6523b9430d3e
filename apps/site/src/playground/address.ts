import type { FaultClassName } from "@holdfast/simulation";
import { defaultPlay, type FreePlay, type PlayFault, playLimits } from "./free-play.ts";
import { storyTexts } from "./story-texts.ts";

/** What a page of the playground shows: its state, all of which is in the address. */
export interface Address {
  readonly subject: Subject;
  /** The faults that the reader has added. */
  readonly faults: readonly PlayFault[];
  /** The moment at which the cursor is; undefined for the start. */
  readonly atMs: number | undefined;
}

/** The scenario before the reader adds faults. */
export type Subject =
  | { readonly kind: "story"; readonly id: string }
  | { readonly kind: "seed"; readonly faults: FaultClassName; readonly seed: number }
  | { readonly kind: "play"; readonly play: FreePlay };

/** An address that cannot be read, with a sentence for the reader. */
export interface BadAddress {
  readonly error: string;
}

/** The most faults that a reader can add. */
export const mostFaults = 30;

/** A long time, in milliseconds: no moment and no duration of an address exceeds it. */
const longestMs = 86_400_000;

/** The classes of faults. Their meanings would be a good part of what the page loads. */
export const classNames: readonly FaultClassName[] = [
  "survivable",
  "lock-breaking",
  "fence-breaking",
  "healed",
  "changing",
];

/**
 * Reads the part of an address after `#`. An empty one is the first story.
 *
 * @example
 * ```ts
 * readAddress("#story=pause&t=120"); // the story at 120 ms
 * readAddress("#lock-breaking=4&do=crash:C:30:500:kept"); // a seed of `pnpm simulate`, and a crash of node C
 * readAddress("#play=clients:3,ttl:500"); // a scenario of the reader's own
 * ```
 */
export function readAddress(hash: string): Address | BadAddress {
  const text = hash.replace(/^#/, "");
  try {
    return addressOf(text === "" ? `story=${storyTexts[0]?.id}` : text);
  } catch (error) {
    return { error: `The address is wrong: ${error instanceof Error ? error.message : error}.` };
  }
}

function addressOf(text: string): Address {
  const params = new URLSearchParams(text);
  const [first = "", ...rest] = params.keys();
  for (const key of rest) {
    if (key !== "t" && key !== "do") throw new Error(`"${key}" is not known`);
    if (params.getAll(key).length > 1) throw new Error(`"${key}" is there twice`);
  }
  const [moment, given] = [params.get("t"), params.get("do")];
  const faults = given === null ? [] : given.split(",").map(readFault);
  if (faults.length > mostFaults) throw new Error(`it has more than ${mostFaults} faults`);
  const atMs = moment === null ? undefined : numberIn(moment, 0, longestMs);
  return { subject: subjectOf(first, params.get(first) ?? ""), faults, atMs };
}

function subjectOf(key: string, value: string): Subject {
  const faults = classNames.find((name) => name === key);
  if (faults !== undefined) return { kind: "seed", faults, seed: wholeIn(value, 0, 2 ** 32) };
  if (key === "play") return { kind: "play", play: readPlay(value) };
  if (key !== "story") throw new Error(`"${key}" is not known`);
  if (!storyTexts.some(({ id }) => id === value)) throw new Error(`there is no story "${value}"`);
  return { kind: "story", id: value };
}

/** The names of the numbers of a {@link FreePlay} in an address. */
const playNames: Readonly<Record<keyof FreePlay, string>> = {
  nodes: "nodes",
  clients: "clients",
  ttlMs: "ttl",
  thinkMs: "think",
  forMs: "for",
};
const playKeys = Object.keys(playNames) as (keyof FreePlay)[];

function readPlay(text: string): FreePlay {
  const given: Partial<Record<keyof FreePlay, number>> = {};
  for (const part of text === "" ? [] : text.split(",")) {
    const [name, value = ""] = part.split(":");
    const key = playKeys.find((each) => playNames[each] === name);
    if (key === undefined || given[key] !== undefined) throw new Error(`"${part}" is not a number of a scenario`);
    given[key] = wholeIn(value, ...playLimits[key]);
  }
  return { ...defaultPlay, ...given };
}

/** Returns the part of an address from `#` on. `readAddress` reads the same from it. */
export function writeAddress({ subject, faults, atMs }: Address): string {
  const parts = [writeSubject(subject)];
  if (faults.length > 0) parts.push(`do=${faults.map(writeFault).join(",")}`);
  if (atMs !== undefined) parts.push(`t=${numberText(atMs)}`);
  return `#${parts.join("&")}`;
}

function writeSubject(subject: Subject): string {
  if (subject.kind === "story") return `story=${subject.id}`;
  if (subject.kind === "seed") return `${subject.faults}=${subject.seed}`;
  const given = playKeys.filter((key) => subject.play[key] !== defaultPlay[key]);
  return `play=${given.map((key) => `${playNames[key]}:${subject.play[key]}`).join(",")}`;
}

/** How faults of one kind are in an address: a verb, and the values of some fields. */
interface FaultWords {
  readonly verb: string;
  readonly fields: readonly (readonly [name: string, read: (text: string) => unknown])[];
  /** How many of the fields there must be. Default: all. */
  readonly least?: number;
  /** What all faults of the kind have in common. */
  readonly common?: object;
}

const client = ["client", clientIn] as const;
const atMs = ["atMs", momentIn] as const;
const forMs = ["forMs", durationIn] as const;
const byMs = ["byMs", durationIn] as const;

const faultWords: Readonly<Record<PlayFault["kind"], FaultWords>> = {
  "node crash": {
    verb: "crash",
    fields: [
      ["node", nodeIn],
      atMs,
      ["forMs", (text) => (text === "ever" ? Infinity : durationIn(text))],
      ["memory", oneOf("kept", "lost")],
      ["guardMs", durationIn],
    ],
    least: 4,
    common: { isSilent: false },
  },
  partition: {
    verb: "cut",
    fields: [
      ["clients", (text) => [clientIn(text)]],
      ["nodes", (text) => [nodeIn(text)]],
      ...[atMs, forMs],
      ["part", oneOf("both", "requests", "replies")],
    ],
  },
  pause: { verb: "pause", fields: [client, atMs, forMs], common: { step: 0 } },
  "pause before acting": { verb: "stall", fields: [client, atMs, forMs] },
  "clock jump": {
    verb: "clock",
    fields: [
      ["of", (text) => (/^\d/.test(text) ? clientIn(text) : nodeIn(text))],
      atMs,
      ["byMs", (text) => numberIn(text, -longestMs, longestMs)],
    ],
  },
  "client crash": { verb: "kill", fields: [client, atMs] },
  "late access": { verb: "late", fields: [client, ["access", (text) => wholeIn(text, 1, 1e6)], byMs] },
};

/** Writes a fault as a verb, a name and numbers. */
function writeFault(fault: PlayFault): string {
  const { verb, fields } = faultWords[fault.kind];
  const given = new Map<string, unknown>(Object.entries(fault));
  const values = fields.map(([name]) => given.get(name));
  return [verb, ...values.filter((value) => value !== undefined).map(fieldText)].join(":");
}

function fieldText(value: unknown): string {
  // A client's name in an address is its number.
  return typeof value === "number" ? numberText(value) : String(value).replace(/^client (?=\d)/, "");
}

/** Reads a fault that `writeFault` has written. */
function readFault(text: string): PlayFault {
  const [verb = "", ...texts] = text.split(":");
  const [kind, words] = Object.entries(faultWords).find(([, each]) => each.verb === verb) ?? [];
  if (words === undefined) throw new Error(`"${verb}" is not a fault`);
  const { fields, common, least = fields.length } = words;
  if (texts.length < least || texts.length > fields.length) throw new Error(`"${text}" is not a whole fault`);
  const values = fields.slice(0, texts.length).map(([name, read], index) => [name, read(texts[index] ?? "")]);
  const fault = { kind, ...common, ...Object.fromEntries(values) } as PlayFault;
  if (fault.kind === "node crash" && fault.memory === "kept" && fault.guardMs !== undefined)
    throw new Error(`"${text}" guards a node that forgets nothing`);
  return fault;
}

function clientIn(text: string): string {
  return `client ${wholeIn(text, 1, 99)}`;
}

function nodeIn(text: string): string {
  if (!/^[A-Z]$/.test(text)) throw new Error(`"${text}" is not a node`);
  return text;
}

function oneOf(...words: readonly string[]): (text: string) => string {
  return (text) => {
    if (!words.includes(text)) throw new Error(`"${text}" is not one of ${words.join(", ")}`);
    return text;
  };
}

function momentIn(text: string): number {
  return wholeMicroseconds(numberIn(text, 0, longestMs));
}

function durationIn(text: string): number {
  return numberIn(text, 0, longestMs);
}

function wholeIn(text: string, least: number, most: number): number {
  if (!/^\d+$/.test(text)) throw new Error(`"${text}" is not a whole number`);
  return numberIn(text, least, most);
}

function numberIn(text: string, least: number, most: number): number {
  const number = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!(number >= least && number <= most)) throw new Error(`"${text}" is not a number from ${least} to ${most}`);
  return number;
}

/** A number with at most three decimals: microseconds, if it is a time. */
function numberText(number: number): string {
  return number === Infinity ? "ever" : String(wholeMicroseconds(number));
}

/**
 * Returns a time in whole microseconds, as an address has it. It is not shorter, so that a fault at a moment of the cursor
 * strikes after what the cursor shows.
 */
export function wholeMicroseconds(ms: number): number {
  const nearest = Math.round(ms * 1000);
  return nearest / 1000 >= ms ? nearest / 1000 : (nearest + 1) / 1000;
}
