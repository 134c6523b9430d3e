/** The transactions over the keys of resources, and what their replies say. */
import type { Floor } from "@holdfast/core/node";
import {
  claimKey,
  decodeFence,
  decodeFloor,
  decodeText,
  encodeFence,
  encodeFloor,
  encodeText,
  type Keys,
} from "./keys.ts";
import type { Compare, Int64, KeyValue, RequestOp, TxnRequest, TxnResponse } from "./messages.ts";

/** A claim at one moment. */
export interface ClaimState {
  readonly owner: string;
  readonly isShared: boolean;
  readonly revision: Int64;
  /** How many times it was written: 1 until it is extended or taken over. */
  readonly version: Int64;
  readonly lease: Int64;
}

/** The counter of a resource at one moment: 0 at the revision 0 if there is none. */
export interface CounterState {
  readonly fence: number;
  readonly revision: Int64;
}

/** The claims and the counter of one resource at one moment: no claim, an exclusive one, or those of sharers. */
export interface ResourceState {
  readonly claims: readonly ClaimState[];
  readonly counter: CounterState;
}

/** The floor and the epoch at one moment: both 0 if their key does not exist. */
export interface FloorState extends Floor {
  /** The value of the key, if it exists. */
  readonly value?: Buffer;
}

/** The key of the floor, and what a transaction relies on. */
export interface FloorGuard {
  readonly key: Buffer;
  readonly seen: FloorState;
}

/** A claim that this client has made, and the counter that it found or wrote. */
export interface OwnState {
  readonly keys: Keys;
  readonly claim: ClaimState;
  readonly counter: CounterState;
}

/** A change of one resource: what it was before, and what to write. */
export interface Change {
  readonly keys: Keys;
  readonly seen: ResourceState;
  readonly owner: string;
  readonly isShared: boolean;
  readonly lease: Int64;
  /** The counter to write, if any. */
  readonly fence?: number | undefined;
}

/** A change that makes a claim where the owner has none. */
export interface Grant extends Change {
  /** The owner whose claims it replaces. */
  readonly replaced?: string | undefined;
  /** Whether it shares all resources with others, so that the counter says nothing about it. */
  readonly joins: boolean;
}

/** A transaction that only reads the resources, and the floor if its key is given. */
export function read(keys: readonly Keys[], floor?: Buffer): TxnRequest {
  return { compare: [], success: reads(keys, floor), failure: [] };
}

/** A transaction that reads a part of the entries between two keys, in order: see {@link entriesIn}. */
export function readKeys(from: Uint8Array, end: Uint8Array, limit: number): TxnRequest {
  return { compare: [], success: [{ requestRange: { key: from, rangeEnd: end, limit } }], failure: [] };
}

/** A transaction that writes a key that does not exist, and otherwise reads it. */
export function writeOnce(key: Buffer, value: Buffer): TxnRequest {
  const isNew: Compare = { key, target: "MOD", result: "EQUAL", modRevision: 0 };
  return { compare: [isNew], success: [{ requestPut: { key, value } }], failure: [{ requestRange: { key } }] };
}

/** Deletes a counter, unless it has changed since it was read, or there is a claim. */
export function deleteUnclaimed({ claim, end, counter }: Keys, revision: Int64): TxnRequest {
  return {
    compare: [noneIn(claim, end), isAt(counter, revision)],
    success: [{ requestDeleteRange: { key: counter } }],
    failure: [],
  };
}

/** Returns the entries that a transaction has read, in order. */
export function entriesIn({ responses }: TxnResponse): readonly KeyValue[] {
  return responses.flatMap(({ responseRange }) => responseRange?.kvs ?? []);
}

/**
 * Claims resources that are free, with counters below the fence, if the floor has not changed since; otherwise only
 * reads both.
 */
export function claimFree(
  keys: readonly Keys[],
  { owner, isShared, lease, fence }: Pick<Change, "owner" | "isShared" | "lease"> & { readonly fence: number },
  floor: FloorGuard,
): TxnRequest {
  const compares = keys.flatMap((each): Compare[] => [
    noneIn(each.claim, each.end),
    { key: each.counter, target: "VALUE", result: "LESS", value: encodeFence(fence) },
  ]);
  return {
    compare: [...compares, isFloor(floor)],
    success: keys.flatMap((each) => writes({ keys: each, owner, isShared, lease, fence })),
    failure: reads(keys, floor.key),
  };
}

/**
 * Extends claims if nothing has changed since; otherwise only reads the resources. Each change writes the claim, so that
 * another copy of the transaction finds a changed claim. The owner is compared because a server that has lost its data
 * uses the same revisions again. While others share, they may raise the counter, and write it again with their releases,
 * which must not hold up an extension: only its value is compared.
 */
export function extendUnchanged(changes: readonly Change[]): TxnRequest {
  const compares = ({ keys, seen, owner, isShared }: Change): Compare[] => {
    const own = seen.claims.find((claim) => claim.owner === owner && claim.isShared === isShared);
    const isUnchanged = isAt(claimKey(keys, owner, isShared), own?.revision ?? 0);
    return [isUnchanged, isShared ? hasValue(keys, seen.counter) : isOf(keys.claim, owner)];
  };
  return {
    compare: changes.flatMap(compares),
    success: changes.flatMap(writes),
    failure: reads(changes.map(({ keys }) => keys)),
  };
}

/**
 * Makes claims if nothing has changed since that matters to them; otherwise only reads the resources. The floor matters
 * if it is given, and is then read as well.
 */
export function claimUnchanged(grants: readonly Grant[], floor?: FloorGuard): TxnRequest {
  return {
    compare: [...grants.flatMap(comparesOf), ...(floor ? [isFloor(floor)] : [])],
    success: grants.flatMap((grant) => {
      const { keys, seen, owner, isShared, replaced } = grant;
      const own = claimKey(keys, owner, isShared);
      const gone = seen.claims.filter((claim) => claim.owner === replaced);
      const deleted = gone
        .map((claim) => claimKey(keys, claim.owner, claim.isShared))
        .filter((key) => !key.equals(own));
      return [...deleted.map((key): RequestOp => ({ requestDeleteRange: { key } })), ...writes(grant)];
    }),
    failure: reads(
      grants.map(({ keys }) => keys),
      floor?.key,
    ),
  };
}

/** Writes the floor and the epoch if nobody else has changed them since; otherwise only reads them. */
export function raiseUnchanged(floor: FloorGuard, raised: Floor): TxnRequest {
  return {
    compare: [isFloor(floor)],
    success: [{ requestPut: { key: floor.key, value: encodeFloor(raised) } }],
    failure: reads([], floor.key),
  };
}

/**
 * A grant that writes the counter compares it, so that of two copies one takes effect at most. One that joins sharers
 * leaves the counter alone, so that many can join at once. It compares the counter, too: releases of sharers write it.
 */
function comparesOf({ keys, seen, owner, isShared, fence, replaced, joins }: Grant): Compare[] {
  const counter = isAt(keys.counter, seen.counter.revision);
  const [first] = seen.claims;
  if (first === undefined) return [noneIn(keys.claim, keys.end), counter];
  if (!first.isShared) return [isAt(keys.claim, first.revision), isOf(keys.claim, first.owner)];
  const staying = seen.claims.filter((claim) => claim.owner !== replaced);
  if (staying.length === 0) {
    const key = claimKey(keys, first.owner, true);
    const after = Buffer.concat([key, Buffer.of(0)]);
    return [noneIn(keys.claim, key), isAt(key, first.revision), noneIn(after, keys.end), counter];
  }
  if (!joins) return [isAt(keys.claim, 0), counter];
  const isReplacing = staying.length < seen.claims.length;
  const witness = staying[Math.floor(Math.random() * staying.length)] as ClaimState;
  const sharers = isReplacing
    ? { key: claimKey(keys, witness.owner, true) }
    : { key: keys.sharers, rangeEnd: keys.end };
  const before = seen.claims.find((claim) => claim.owner === owner);
  const own = fence === undefined ? [isAt(claimKey(keys, owner, isShared), before?.revision ?? 0)] : [];
  return [{ ...sharers, target: "MOD", result: "GREATER", modRevision: 0 }, counter, ...own];
}

/** Deletes each of the claims that the owner holds. */
export function deleteOwned(
  keys: readonly Keys[],
  owner: string,
  known: readonly (OwnState | undefined)[],
): TxnRequest {
  return eachAlone(
    keys.map((each, index): TxnRequest => {
      const state = known[index];
      if (state?.claim.isShared) return deletionOfSharer(state);
      const sharer = claimKey(each, owner, true);
      return {
        compare: [isOf(each.claim, owner)],
        success: [{ requestDeleteRange: { key: each.claim } }],
        failure: [{ requestDeleteRange: { key: sharer } }],
      };
    }),
  );
}

/** Deletes each of the claims that are still as they were written. */
export function deleteUnchanged(claims: readonly OwnState[]): TxnRequest {
  return eachAlone(
    claims.map((state): TxnRequest => {
      const { keys, claim } = state;
      const key = claimKey(keys, claim.owner, claim.isShared);
      return {
        compare: [isOf(key, claim.owner), isAt(key, claim.revision)],
        success: [claim.isShared ? { requestTxn: deletionOfSharer(state) } : { requestDeleteRange: { key } }],
        failure: [],
      };
    }),
  );
}

/**
 * Deletes the claim of a sharer. Writes the counter again if it is still the one that the claim found, so that no late
 * copy of the request makes the claim again.
 */
function deletionOfSharer({ keys, claim, counter }: OwnState): TxnRequest {
  const key = claimKey(keys, claim.owner, true);
  const deletion: RequestOp = { requestDeleteRange: { key } };
  return {
    compare: [isOf(key, claim.owner), isAt(keys.counter, counter.revision)],
    success: [deletion, { requestPut: { key: keys.counter, value: encodeFence(counter.fence) } }],
    failure: [deletion],
  };
}

/** Returns how many claims a deletion has deleted. */
export function deletionsIn({ responses }: TxnResponse): number {
  return responses.reduce((sum, { responseDeleteRange, responseTxn }) => {
    return sum + (responseDeleteRange?.deleted ?? 0) + (responseTxn ? deletionsIn(responseTxn) : 0);
  }, 0);
}

/** Returns the states of the resources that a transaction has read, in order. */
export function statesIn({ responses }: TxnResponse, keys: readonly Keys[]): ResourceState[] {
  const read = responses.map(({ responseRange }) => responseRange?.kvs ?? []);
  return keys.map((each, index) => stateOf(each, read[2 * index] ?? [], read[2 * index + 1]?.[0]));
}

function stateOf(keys: Keys, claims: readonly KeyValue[], counter: KeyValue | undefined): ResourceState {
  return {
    claims: claims.map((entry) => claimIn(entry, !entry.key.equals(keys.claim))),
    counter: { fence: counter ? decodeFence(counter.value) : 0, revision: counter?.modRevision ?? 0 },
  };
}

/** Returns the claim that an entry holds. */
export function claimIn({ value, modRevision, version, lease }: KeyValue, isShared: boolean): ClaimState {
  return { owner: decodeText(value), isShared, revision: modRevision, version, lease };
}

/** Returns the floor that a transaction has read after the resources. */
export function floorIn({ responses }: TxnResponse): FloorState {
  const value = responses.at(-1)?.responseRange?.kvs[0]?.value;
  return value === undefined ? { floor: 0, epoch: 0 } : { ...decodeFloor(value), value };
}

function reads(keys: readonly Keys[], floor?: Buffer): RequestOp[] {
  const ofResources = keys.flatMap(({ claim, end, counter }): RequestOp[] => [
    { requestRange: { key: claim, rangeEnd: end } },
    { requestRange: { key: counter } },
  ]);
  return floor ? [...ofResources, { requestRange: { key: floor } }] : ofResources;
}

function writes({ keys, owner, isShared, lease, fence }: Omit<Change, "seen">): RequestOp[] {
  const key = claimKey(keys, owner, isShared);
  const claim: RequestOp = { requestPut: { key, value: encodeText(owner), lease } };
  return fence === undefined ? [claim] : [claim, { requestPut: { key: keys.counter, value: encodeFence(fence) } }];
}

function isAt(key: Buffer, modRevision: Int64): Compare {
  return { key, target: "MOD", result: "EQUAL", modRevision };
}

function isOf(key: Buffer, owner: string): Compare {
  return { key, target: "VALUE", result: "EQUAL", value: encodeText(owner) };
}

function hasValue({ counter }: Keys, { fence, revision }: CounterState): Compare {
  if (revision === 0) return isAt(counter, 0);
  return { key: counter, target: "VALUE", result: "EQUAL", value: encodeFence(fence) };
}

/** Compares the value, because a server that has lost its data uses the same revisions again. */
function isFloor({ key, seen: { value } }: FloorGuard): Compare {
  return value === undefined ? isAt(key, 0) : { key, target: "VALUE", result: "EQUAL", value };
}

function noneIn(key: Buffer, rangeEnd: Buffer): Compare {
  return { key, rangeEnd, target: "MOD", result: "EQUAL", modRevision: 0 };
}

/** Joins transactions, each of which takes effect or not on its own. */
function eachAlone(transactions: readonly TxnRequest[]): TxnRequest {
  const [first] = transactions;
  if (first !== undefined && transactions.length === 1) return first;
  return { compare: [], success: transactions.map((requestTxn) => ({ requestTxn })), failure: [] };
}
