import type { AcquireRequest, ExtendRequest, NodeRequest, ReleaseRequest } from "@holdfast/core";
import { fenceKey, keyNames, lineKey } from "./keys.ts";
import type { Settings } from "./options.ts";

/** An operation in the words of the script. */
export interface Phrase {
  readonly resources: readonly string[];
  /** The letter of the operation, and one `+` for each resource beyond the first. */
  readonly steps: string;
  readonly keys: readonly string[];
  readonly arguments: readonly string[];
  /** What the operation goes by, where it makes a claim. */
  readonly terms?: {
    /** How long the claim is kept, and how long its counters. */
    readonly times: readonly string[];
    readonly takeover?: readonly string[];
  };
  /** Who goes on waiting after it. */
  readonly waiter?: readonly string[];
}

/** Puts requests into the words of the script. Throws a ConfigurationError for what cannot be asked. */
export interface Phrases {
  acquire(request: AcquireRequest): Phrase;
  extend(request: ExtendRequest): Phrase;
  release(request: ReleaseRequest): Phrase;
  inspect(resource: string): Phrase;
  introduce(request: NodeRequest): Phrase;
}

/** What phrases depend on. */
type Dialect = Pick<Settings, "prefix" | "fenceTtlMs"> & { readonly isCluster: boolean };

let latest: { readonly dialect: Dialect; readonly phrases: Phrases } | undefined;

/**
 * The phrases of a dialect. Nodes that are made in a row with the same options share them: core gives all nodes of a
 * `Redlock` the same request object, which is then put into words once.
 */
export function phrasesOf(dialect: Dialect): Phrases {
  if (latest === undefined || !isSame(latest.dialect, dialect)) latest = { dialect, phrases: createPhrases(dialect) };
  return latest.phrases;
}

function isSame(a: Dialect, b: Dialect): boolean {
  return a.prefix === b.prefix && a.fenceTtlMs === b.fenceTtlMs && a.isCluster === b.isCluster;
}

function createPhrases({ prefix, isCluster, fenceTtlMs }: Dialect): Phrases {
  const { lockKeys } = keyNames(prefix, isCluster);
  const lockAndFenceKeys = (resources: readonly string[]): string[] => {
    const keys = lockKeys(resources);
    return [...keys, ...keys.map(fenceKey)];
  };
  const timesOf = (ttlMs: number): string[] => [
    String(ttlMs),
    fenceTtlMs === Infinity ? "0" : String(ttlMs + fenceTtlMs),
  ];
  return {
    acquire: rememberingOne(({ resources, owner, ttlMs, fenceHint, takeover, waiter }) => {
      const phrase: Phrase = {
        resources,
        steps: stepsOf("a", resources),
        keys: lockAndFenceKeys(resources),
        arguments: [owner, String(fenceHint)],
        terms: { times: timesOf(ttlMs), ...(takeover !== undefined && { takeover: [takeover] }) },
      };
      if (waiter === undefined) return phrase;
      const lines = lockKeys(resources).map(lineKey);
      return { ...phrase, keys: [...phrase.keys, ...lines], waiter: [waiter] };
    }),
    extend: rememberingOne(({ resources, owner, ttlMs, fence, rejoin }) => ({
      resources,
      steps: stepsOf(rejoin ? "j" : "e", resources),
      keys: lockAndFenceKeys(resources),
      arguments: [owner, String(fence)],
      terms: { times: timesOf(ttlMs) },
    })),
    release: rememberingOne(({ resources, owner, waiter, undo }) => {
      const keys = lockKeys(resources);
      const phrase = { resources, steps: stepsOf("r", resources), keys, arguments: [owner] };
      if (undo) return phrase;
      const waking = { ...phrase, steps: stepsOf("w", resources), keys: [...keys, ...keys.map(lineKey)] };
      return waiter === undefined ? waking : { ...waking, waiter: [waiter] };
    }),
    inspect: (resource) => ({
      resources: [resource],
      steps: "i",
      keys: lockAndFenceKeys([resource]),
      arguments: [],
    }),
    introduce: ({ resources }) => ({
      resources,
      steps: stepsOf("q", resources),
      keys: lockKeys(resources),
      arguments: [],
    }),
  };
}

function stepsOf(letter: string, { length }: readonly string[]): string {
  return letter + "+".repeat(length - 1);
}

/** Remembers what was made of the last request, unless that request may change. */
function rememberingOne<Request extends NodeRequest>(make: (request: Request) => Phrase): (request: Request) => Phrase {
  let request: Request | undefined;
  let phrase: Phrase;
  return (next) => {
    if (next === request) return phrase;
    const made = make(next);
    if (Object.isFrozen(next) && Object.isFrozen(next.resources)) {
      request = next;
      phrase = made;
    }
    return made;
  };
}
