import type { Operation } from "./operation.ts";
import type { Phrase } from "./phrases.ts";
import { bulks } from "./resp.ts";

/** What calls of the same operations to several servers have in common: all but the ticket. */
export interface Outline {
  readonly phrases: readonly Phrase[];
  readonly guard: string | undefined;
  readonly keys: readonly string[];
  /** The steps, in one word. */
  readonly steps: string;
  /** Where in the steps each operation has its letter. */
  readonly places: readonly number[];
  /** What the steps take. */
  readonly args: readonly string[];
  /** The command with these steps, as it is written to a socket before and after the ticket. */
  respOf(command: string, script: string, steps: string): Resp;
}

interface Resp {
  readonly command: string;
  readonly script: string;
  readonly steps: string;
  readonly before: string;
  readonly after: string;
}

type Operations = readonly Pick<Operation, "phrase">[];

/**
 * The outline that was made last. Core asks all nodes of a `Redlock` one after the other, with the same requests, so that
 * their calls of one tick are alike, and put together once.
 */
let latest: Outline | undefined;

/**
 * What a call of operations consists of.
 *
 * @param guard how long after its start the server does not vote; undefined if that makes no difference
 */
export function outlineOf(operations: Operations, guard: string | undefined): Outline {
  if (latest === undefined || !isOf(latest, operations, guard)) latest = createOutline(operations, guard);
  return latest;
}

function isOf({ phrases, guard }: Outline, operations: Operations, otherGuard: string | undefined): boolean {
  if (guard !== otherGuard || phrases.length !== operations.length) return false;
  return operations.every(({ phrase }, index) => phrase === phrases[index]);
}

function createOutline(operations: Operations, guard: string | undefined): Outline {
  const keys: string[] = [];
  const places: number[] = [];
  const args: string[] = [];
  let steps = "";
  let ttlMs: string | undefined;
  let resp: Resp | undefined;
  const set = (step: string, values: readonly string[]): void => {
    steps += step;
    args.push(...values);
  };
  if (guard !== undefined) set("g", [guard]);
  const phrases = operations.map(({ phrase }) => phrase);
  for (const phrase of phrases) {
    const { terms, waiter } = phrase;
    keys.push(...phrase.keys);
    if (terms) {
      if (terms.times[0] !== ttlMs) set("t", terms.times);
      if (terms.takeover) set("o", terms.takeover);
      ttlMs = terms.times[0];
    }
    if (waiter) set("n", waiter);
    places.push(steps.length);
    set(phrase.steps, phrase.arguments);
  }
  return {
    phrases,
    guard,
    keys,
    steps,
    places,
    args,
    respOf(command, script, stepsNow) {
      if (resp?.command === command && resp.script === script && resp.steps === stepsNow) return resp;
      const count = 5 + keys.length + args.length;
      const before = `*${count}\r\n${bulks([command, script, String(keys.length), ...keys, stepsNow])}`;
      resp = { command, script, steps: stepsNow, before, after: bulks(args) };
      return resp;
    },
  };
}
