import type { FaultClassName } from "@holdfast/simulation";
import {
  crashClient,
  crashNode,
  cutLink,
  defaultPlay,
  type FreePlay,
  type PlayFault,
  pauseClient,
  playLimits,
  setClock,
  stallClient,
  wholeMicroseconds,
} from "./free-play.ts";
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
    return addressOf(text === "" ? `story=${storyTexts[0]?.id}` : decodeURIComponent(text));
  } catch (error) {
    return { error: `The address is wrong: ${error instanceof Error ? error.message : error}.` };
  }
}

function addressOf(text: string): Address {
  const [first = "", ...rest] = text.split("&");
  let faults: PlayFault[] = [];
  let atMs: number | undefined;
  for (const [index, pair] of rest.entries()) {
    const [key, value] = pairOf(pair);
    if (rest.findIndex((other) => pairOf(other)[0] === key) < index) throw new Error(`"${key}" is there twice`);
    if (key === "t") atMs = numberIn(value, 0, longestMs);
    else if (key === "do") faults = value.split(",").map(readFault);
    else throw new Error(`"${key}" is not known`);
  }
  if (faults.length > mostFaults) throw new Error(`it has more than ${mostFaults} faults`);
  return { subject: subjectOf(...pairOf(first)), faults, atMs };
}

function pairOf(text: string): [key: string, value: string] {
  const at = text.indexOf("=");
  if (at < 0) throw new Error(`"${text}" has no "="`);
  return [text.slice(0, at), text.slice(at + 1)];
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

const nodeNames = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** Writes a fault as a verb, a name and numbers. */
function writeFault(fault: PlayFault): string {
  const fields = fieldsOf(fault).map((field) => (typeof field === "number" ? numberText(field) : shortName(field)));
  return fields.join(":");
}

function fieldsOf(fault: PlayFault): (string | number)[] {
  switch (fault.kind) {
    case "node crash": {
      const guard = fault.guardMs === undefined ? [] : [fault.guardMs];
      return ["crash", fault.node, fault.atMs, fault.forMs, fault.memory, ...guard];
    }
    case "partition":
      return ["cut", fault.clients[0] ?? "", fault.nodes[0] ?? "", fault.atMs, fault.forMs, fault.part];
    case "pause":
      return ["pause", fault.client, fault.atMs, fault.forMs];
    case "pause before acting":
      return ["stall", fault.client, fault.atMs, fault.forMs];
    case "clock jump":
      return ["clock", fault.of, fault.atMs, fault.byMs];
    case "client crash":
      return ["kill", fault.client, fault.atMs];
    case "late access":
      return ["late", fault.client, fault.access, fault.byMs];
  }
}

/** Reads a fault that `writeFault` has written. */
function readFault(text: string): PlayFault {
  const [verb = "", ...fields] = text.split(":");
  const read = Object.hasOwn(readers, verb) ? readers[verb] : undefined;
  if (read === undefined) throw new Error(`"${verb}" is not a fault`);
  const [least, most] = read.fields;
  if (fields.length < least || fields.length > most) throw new Error(`"${text}" is not a whole fault`);
  const [a = "", b = "", c = "", d = "", e = ""] = fields;
  return read.fault([a, b, c, d, e]);
}

type Fields = readonly [string, string, string, string, string];

interface Reader {
  /** The least and the most fields that follow the verb. */
  readonly fields: readonly [number, number];
  fault(fields: Fields): PlayFault;
}

const readers: Readonly<Partial<Record<string, Reader>>> = {
  crash: {
    fields: [4, 5],
    fault: ([node, at, during, memory, guard]) => {
      const forMs = during === "ever" ? Infinity : durationIn(during);
      const kept = oneOf(["kept", "lost"], memory);
      return crashNode(nodeIn(node), momentIn(at), { forMs, memory: kept, guardMs: guard ? durationIn(guard) : 0 });
    },
  },
  cut: {
    fields: [5, 5],
    fault: ([client, node, at, during, part]) => {
      const which = oneOf(["both", "requests", "replies"], part);
      return cutLink(clientIn(client), nodeIn(node), momentIn(at), { forMs: durationIn(during), part: which });
    },
  },
  pause: {
    fields: [3, 3],
    fault: ([client, at, during]) => pauseClient(clientIn(client), momentIn(at), durationIn(during)),
  },
  stall: {
    fields: [3, 3],
    fault: ([client, at, during]) => stallClient(clientIn(client), momentIn(at), durationIn(during)),
  },
  clock: {
    fields: [3, 3],
    fault: ([of, at, by]) => {
      const name = /^\d/.test(of) ? clientIn(of) : nodeIn(of);
      return setClock(name, momentIn(at), numberIn(by, -longestMs, longestMs));
    },
  },
  kill: {
    fields: [2, 2],
    fault: ([client, at]) => crashClient(clientIn(client), momentIn(at)),
  },
  late: {
    fields: [3, 3],
    fault: ([client, access, by]) => {
      return { kind: "late access", client: clientIn(client), access: wholeIn(access, 1, 1e6), byMs: durationIn(by) };
    },
  },
};

/** A client's name in an address is its number. */
function shortName(name: string): string {
  return name.replace(/^client (?=\d)/, "");
}

function clientIn(text: string): string {
  return `client ${wholeIn(text, 1, 99)}`;
}

function nodeIn(text: string): string {
  if (text.length !== 1 || !nodeNames.includes(text)) throw new Error(`"${text}" is not a node`);
  return text;
}

function oneOf<Word extends string>(words: readonly Word[], text: string): Word {
  const word = words.find((each) => each === text);
  if (word === undefined) throw new Error(`"${text}" is not one of ${words.join(", ")}`);
  return word;
}

function momentIn(text: string): number {
  return numberIn(text, 0, longestMs);
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
