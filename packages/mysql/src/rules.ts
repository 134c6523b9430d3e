/**
 * The rules of the contract, as functions of what a table has: they return a reply, and the rows that it changes. See
 * `LockNode`.
 */
import { EpochError } from "@holdfast/core";
import type {
  AcquireReply,
  AcquireRequest,
  Denial,
  ExtendReply,
  ExtendRequest,
  ReleaseReply,
  ReleaseRequest,
} from "@holdfast/core/node";

/** A shared claim: when it ends, in microseconds, and the counter at its grant. */
export type Share = readonly [untilUs: number, fence: number];

/** What the table has of one resource. */
export interface Entry {
  readonly resource: string;
  /** The owner of the exclusive claim, or of the shared one that lasts longest. */
  readonly owner: string | null;
  /** When that claim ends, or has ended, in microseconds; 0 after a release. */
  readonly untilUs: number;
  readonly fence: number;
  /** The shared claims, by owner; null if the claim is exclusive, or there is none. Some may have ended. */
  readonly sharers: Readonly<Record<string, Share>> | null;
  /** Until when further sharers are denied in favour of a client that waits, in microseconds. */
  readonly favoursUntilUs: number;
  /** Changes with each write. */
  readonly version: number;
}

/** What the table has of several resources at one moment, with the server's clock. */
export interface View {
  readonly nowUs: number;
  readonly floor: number;
  readonly epoch: number;
  readonly entries: readonly Entry[];
}

/** A reply, and the entries that it changes; none if it changes nothing. */
export interface Outcome<Reply> {
  readonly reply: Reply;
  readonly changes: readonly Entry[];
}

interface Claim {
  readonly owner: string;
  readonly untilUs: number;
}

const dayUs = 86_400_000_000;

/** How long a denied exclusive waiter keeps further sharers out, in microseconds. Renewed when half of that has passed. */
const favourUs = 2_000_000;

/** Decides an acquire request. */
export function acquire(view: View, request: AcquireRequest): Outcome<AcquireReply> {
  const { entries, nowUs, floor, epoch } = view;
  const { resources, owner, fenceHint, epoch: own = 1 } = request;
  if (epoch > 0 && Math.abs(own - epoch) > 1) throw new EpochError(epoch, own);
  const highest = highestFence(entries);
  const isResent = entries.every((entry) => endOf(entry, owner, nowUs) !== undefined);
  if (isResent) return { reply: { granted: true, fence: highest }, changes: [] };
  const denied = denialOf(view, request);
  if (denied !== undefined) return denied;
  const counter = Math.max(highest, floor);
  const hint = Math.min(fenceHint, nowUs + dayUs);
  const fence = joins(view, request) ? counter : Math.max(1 + counter, hint);
  const reply = { granted: true as const, fence, ...(resources.length > 1 && { uniform: true }) };
  return { reply, changes: granted(view, request, fence) };
}

/** Decides an extend request. */
export function extend(view: View, request: ExtendRequest): Outcome<ExtendReply> {
  const { entries, nowUs } = view;
  const { owner, ttlMs, fence, rejoin, shared = false } = request;
  if (entries.every((entry) => endOf(entry, owner, nowUs) !== undefined)) {
    const changes = entries.map((entry) => prolonged(entry, owner, nowUs + 1_000 * ttlMs, fence));
    return { reply: { held: true, fence: highestFence(changes) }, changes };
  }
  const blocking = entries
    .filter((entry) => !(shared && sharesOf(entry, nowUs).length > 0))
    .flatMap((entry) => longestOn(entry, nowUs, owner) ?? []);
  const [first] = blocking;
  if (first !== undefined) return { reply: { held: false, rejoined: false, holder: first.owner }, changes: [] };
  if (!rejoin) return { reply: { held: false, rejoined: false }, changes: [] };
  const counter = highestFence(entries) + (joins(view, request) ? 0 : 1);
  return { reply: { held: false, rejoined: true }, changes: granted(view, request, Math.max(counter, fence)) };
}

/** Decides a release request. */
export function release({ entries, nowUs }: View, { owner }: ReleaseRequest): Outcome<ReleaseReply> {
  const held = entries.filter((entry) => endOf(entry, owner, nowUs) !== undefined);
  const changes = held.map((entry) => withSharers(entry, sharesOf(entry, nowUs, owner)));
  return { reply: { released: held.length > 0 }, changes };
}

/** Returns when the owner's claim ends, in microseconds; undefined if it has none in force. */
export function endOf({ owner, untilUs, sharers }: Entry, ofOwner: string, nowUs: number): number | undefined {
  const endUs = sharers === null ? owner === ofOwner && untilUs : sharers[ofOwner]?.[0];
  return endUs && endUs > nowUs ? endUs : undefined;
}

/** Returns the shared claims in force, but for those of some owners. */
export function sharesOf(
  { sharers }: Entry,
  nowUs: number,
  ...but: readonly (string | undefined)[]
): (readonly [string, Share])[] {
  return Object.entries(sharers ?? {}).filter(([owner, [untilUs]]) => untilUs > nowUs && !but.includes(owner));
}

function longestOn(entry: Entry, nowUs: number, ignoredOwner?: string): Claim | undefined {
  const { owner, untilUs, sharers } = entry;
  if (sharers !== null) return longestOf(sharesOf(entry, nowUs, ignoredOwner));
  return owner === null || owner === ignoredOwner || untilUs <= nowUs ? undefined : { owner, untilUs };
}

function longestOf(shares: readonly (readonly [string, Share])[]): Claim | undefined {
  let longest: Claim | undefined;
  for (const [owner, [untilUs]] of shares) if (untilUs > (longest?.untilUs ?? 0)) longest = { owner, untilUs };
  return longest;
}

/** Whether a request would share every one of its resources with other owners. */
function joins({ entries, nowUs }: View, { shared, owner, takeover }: Pick<AcquireRequest, Claiming>): boolean {
  return shared === true && entries.every((entry) => sharesOf(entry, nowUs, owner, takeover).length > 0);
}

type Claiming = "owner" | "ttlMs" | "shared" | "takeover";

function highestFence(entries: readonly Entry[]): number {
  return entries.reduce((highest, { fence }) => Math.max(highest, fence), 0);
}

/** Returns the entries as they are after a grant. */
function granted({ entries, nowUs }: View, request: Pick<AcquireRequest, Claiming>, fence: number): readonly Entry[] {
  if (!Number.isSafeInteger(fence)) throw new RangeError("the fence counter is used up");
  const { owner, ttlMs, shared, takeover } = request;
  const untilUs = nowUs + 1_000 * ttlMs;
  return entries.map((entry) => {
    if (!shared) return { ...entry, owner, untilUs, fence, sharers: null, favoursUntilUs: 0 };
    return withSharers({ ...entry, fence }, [...sharesOf(entry, nowUs, owner, takeover), [owner, [untilUs, fence]]]);
  });
}

/** Returns an entry with these shared claims instead of its claim. */
function withSharers(entry: Entry, shares: readonly (readonly [string, Share])[]): Entry {
  const { owner, untilUs } = longestOf(shares) ?? { owner: null, untilUs: 0 };
  return { ...entry, owner, untilUs, sharers: shares.length > 0 ? Object.fromEntries(shares) : null };
}

/** Returns an entry with the owner's claim kept until then, at least, and its counter raised. */
function prolonged(entry: Entry, owner: string, endUs: number, atLeast: number): Entry {
  const fence = Math.max(entry.fence, atLeast);
  const share = entry.sharers?.[owner];
  if (share === undefined) return { ...entry, fence, untilUs: Math.max(entry.untilUs, endUs) };
  const longer = { ...entry.sharers, [owner]: [Math.max(share[0], endUs), share[1]] as const };
  return withSharers({ ...entry, fence }, Object.entries(longer));
}

/** Returns a denial if anything blocks the request. It renews the turn of an exclusive waiter that sharers keep out. */
function denialOf(view: View, request: AcquireRequest): Outcome<Denial> | undefined {
  const { entries, nowUs } = view;
  const { owner, shared = false, waiter } = request;
  let last: Claim | undefined;
  const heldResources: string[] = [];
  for (const entry of entries) {
    const blocker = blockerOf(entry, request, nowUs);
    if (blocker === undefined) continue;
    if (last === undefined || blocker.untilUs > last.untilUs) last = blocker;
    // A claim of the same owner also blocks a request for more resources, but does not block other callers.
    if (blocker.owner !== owner) heldResources.push(entry.resource);
  }
  if (last === undefined) return undefined;
  const reply = {
    granted: false as const,
    retryAfterMs: (last.untilUs - nowUs) / 1_000,
    ...(last.owner !== owner && { holder: last.owner }),
    ...(heldResources.length > 0 && { heldResources }),
  };
  if (shared || waiter === undefined) return { reply, changes: [] };
  const changes = entries
    .filter(
      (entry) => entry.favoursUntilUs < nowUs + favourUs / 2 && sharesOf(entry, nowUs, request.takeover).length > 0,
    )
    .map((entry) => ({ ...entry, favoursUntilUs: nowUs + favourUs }));
  return { reply, changes };
}

/** Returns what keeps a request from the resource: a claim, or the turn of an exclusive waiter. */
function blockerOf(entry: Entry, request: AcquireRequest, nowUs: number): Claim | undefined {
  const { owner, takeover, shared = false } = request;
  const shares = sharesOf(entry, nowUs);
  if (!shared || shares.length === 0) return longestOn(entry, nowUs, takeover);
  const ownUs = endOf(entry, owner, nowUs);
  if (ownUs !== undefined) return { owner, untilUs: ownUs };
  const longest = longestOf(shares);
  return longest && entry.favoursUntilUs > nowUs ? { ...longest, untilUs: entry.favoursUntilUs } : undefined;
}
