/** Texts and marks that several views share. */
import type { MessageTrace, StorageKind, Trace } from "@holdfast/simulation";

/** Returns a time in words: `12.35 ms`. */
export function ms(value: number): string {
  return `${Number(value.toFixed(Math.abs(value) < 100 ? 2 : 0))} ms`;
}

/** Returns a number of things: `1 update`, `2 updates`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Returns names as a list in a sentence: `A, B and C`. */
export function listed(names: readonly string[]): string {
  return [names.slice(0, -1).join(", "), ...names.slice(-1)].filter((part) => part !== "").join(" and ");
}

/** Returns a text as the start of a sentence. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Where something happens to a storage, in a sentence. */
export const storagePlaces: Readonly<Record<StorageKind, string>> = {
  "checks nothing": "without fencing",
  "checks writes": "with fencing of writes only",
  "checks all": "with fencing",
  "is guarded": "in the guarded table",
};

/** The names of the storages. */
export const storageNames: Readonly<Record<StorageKind, string>> = {
  "checks nothing": "Without fencing",
  "checks writes": "Fencing of writes only",
  "checks all": "With fencing",
  "is guarded": "Guarded table",
};

/**
 * Returns the storages to show: the guarded one if a client forgets its token, and the one that checks only writes if it does
 * not do as well as the one that checks all.
 */
export function storagesToShow({ accesses }: Trace): readonly StorageKind[] {
  if (accesses.some(({ fence }) => fence === undefined)) return ["checks nothing", "checks all", "is guarded"];
  const loses = accesses.some(({ results }) => results?.["checks writes"].lost !== undefined);
  return loses ? ["checks nothing", "checks writes", "checks all"] : ["checks nothing", "checks all"];
}

/** Returns the number of a client's colour, from 0: its position among the clients. */
export function hueOf(name: string | undefined, { clients }: Trace): number {
  return Math.max(0, clients.indexOf(name ?? "")) % 6;
}

/** Returns the client of a message. */
export function clientOf({ part, from, to }: Pick<MessageTrace, "part" | "from" | "to">): string {
  return part === "request" ? from : to;
}

/** Returns a message in one or two words. */
export function wordOf({ part, exchange, outcome }: Pick<MessageTrace, "part" | "exchange" | "outcome">): string {
  return part === "reply" ? (outcome ?? "reply") : exchange;
}

/** Returns the sign of a message: one character in its dot. */
export function signOf(message: Pick<MessageTrace, "part" | "exchange" | "outcome">): string {
  return signs[wordOf(message)] ?? "·";
}

const signs: Readonly<Record<string, string>> = {
  acquire: "?",
  extend: "+",
  release: "−",
  undo: "−",
  notification: "!",
  granted: "✓",
  held: "✓",
  rejoined: "✓",
  denied: "✕",
  "not held": "✕",
  failed: "✕",
  refused: "✕",
};
