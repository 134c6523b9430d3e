import type { Operation } from "./operation.ts";
import type { Phrase } from "./phrases.ts";
import { bulk, bulks } from "./resp.ts";

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
  /** The command, as it is written to a socket before and after the steps and the ticket. */
  respOf(command: string, script: string): Resp;
}

interface Resp {
  readonly command: string;
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
  const phrases: Phrase[] = [];
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
  for (const { phrase } of operations) {
    const { terms, waiter } = phrase;
    phrases.push(phrase);
    keys.push(...phrase.keys.list);
    if (terms) {
      if (terms.times.list[0] !== ttlMs) set("t", terms.times.list);
      if (terms.takeover) set("o", terms.takeover.list);
      ttlMs = terms.times.list[0];
    }
    if (waiter) set("n", waiter.list);
    places.push(steps.length);
    set(phrase.steps, phrase.arguments.list);
  }
  const respOf = (command: string, script: string): Resp => {
    const count = 5 + keys.length + args.length;
    const head = `*${count}\r\n${bulk(command)}${bulk(script)}${bulk(String(keys.length))}`;
    return { command, before: head + bulks(keys), after: bulks(args) };
  };
  return {
    phrases,
    guard,
    keys,
    steps,
    places,
    args,
    respOf(command, script) {
      if (resp?.command !== command) resp = respOf(command, script);
      return resp;
    },
  };
}
