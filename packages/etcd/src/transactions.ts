/** The transactions of etcd that lock nodes send, and what the replies say. */
import { decodeFence, decodeText, encodeFence, encodeText, type Keys } from "./keys.ts";
import type { Compare, Int64, KeyValue, RequestOp, TxnRequest, TxnResponse } from "./messages.ts";

/** The claim and the counter of one resource at one moment. A missing key has the revision 0. */
export interface ResourceState {
  readonly claim: {
    readonly owner: string | null;
    readonly revision: Int64;
    /** How many times it was written: 1 until it is extended or taken over. */
    readonly version: Int64;
    readonly lease: Int64;
  };
  readonly counter: { readonly fence: number; readonly revision: Int64 };
}

/** A change of one resource: what it was before, and what to write. */
export interface Change {
  readonly keys: Keys;
  readonly seen: ResourceState;
  readonly owner: string;
  readonly lease: Int64;
  /** The counter to write, if any. */
  readonly fence?: number | undefined;
}

/** A transaction that only reads the resources. */
export function read(keys: readonly Keys[]): TxnRequest {
  return { compare: [], success: reads(keys), failure: [] };
}

/** A transaction that reads a part of the keys between two keys, in order: see {@link keysIn}. */
export function readKeys(from: Uint8Array, end: Uint8Array, limit: number): TxnRequest {
  return { compare: [], success: [{ requestRange: { key: from, rangeEnd: end, limit } }], failure: [] };
}

/** Returns the keys that a transaction has read, in order. */
export function keysIn({ responses }: TxnResponse): readonly Buffer[] {
  return responses.flatMap(({ responseRange }) => responseRange?.kvs ?? []).map(({ key }) => key);
}

/** Claims resources that are free, with counters below the fence; otherwise only reads them. */
export function claimFree(keys: readonly Keys[], owner: string, lease: Int64, fence: number): TxnRequest {
  return {
    compare: keys.flatMap(({ claim, counter }): Compare[] => [
      { key: claim, target: "MOD", result: "EQUAL", modRevision: 0 },
      { key: counter, target: "VALUE", result: "LESS", value: encodeFence(fence) },
    ]),
    success: keys.flatMap((each) => writes({ keys: each, owner, lease, fence })),
    failure: reads(keys),
  };
}

/**
 * Makes all the changes if nothing has changed since; otherwise only reads the resources. Each change writes the claim,
 * so that another copy of the transaction finds a changed claim. The owner is compared because a server that has lost
 * its data uses the same revisions again.
 */
export function changeUnchanged(changes: readonly Change[]): TxnRequest {
  return {
    compare: changes.flatMap(({ keys, seen }): Compare[] => [
      { key: keys.claim, target: "MOD", result: "EQUAL", modRevision: seen.claim.revision },
      seen.claim.owner === null
        ? { key: keys.counter, target: "MOD", result: "EQUAL", modRevision: seen.counter.revision }
        : { key: keys.claim, target: "VALUE", result: "EQUAL", value: encodeText(seen.claim.owner) },
    ]),
    success: changes.flatMap(writes),
    failure: reads(changes.map(({ keys }) => keys)),
  };
}

/** Deletes each of the claims that the owner holds. */
export function deleteOwned(keys: readonly Keys[], owner: string): TxnRequest {
  return eachAlone(keys.map(({ claim }) => deletion(claim, owner)));
}

/** Deletes each of the claims that are still as they were written. */
export function deleteUnchanged(
  claims: readonly { readonly key: Buffer; readonly state: ResourceState }[],
): TxnRequest {
  return eachAlone(claims.map(({ key, state: { claim } }) => deletion(key, claim.owner ?? "", claim.revision)));
}

/** Returns how many of the claims a deletion has deleted. */
export function deletionsIn({ succeeded, responses }: TxnResponse): number {
  const nested = responses.flatMap(({ responseTxn }) => (responseTxn ? [responseTxn] : []));
  return nested.length > 0 ? nested.filter((each) => each.succeeded).length : Number(succeeded);
}

/** Returns the states of the resources that a transaction has read, in order. */
export function statesIn({ responses }: TxnResponse): ResourceState[] {
  const read = responses.map(({ responseRange }) => responseRange?.kvs[0]);
  return Array.from({ length: read.length / 2 }, (_, index) => stateOf(read[2 * index], read[2 * index + 1]));
}

function stateOf(claim: KeyValue | undefined, counter: KeyValue | undefined): ResourceState {
  return {
    claim: {
      owner: claim ? decodeText(claim.value) : null,
      revision: claim?.modRevision ?? 0,
      version: claim?.version ?? 0,
      lease: claim?.lease ?? 0,
    },
    counter: { fence: counter ? decodeFence(counter.value) : 0, revision: counter?.modRevision ?? 0 },
  };
}

function reads(keys: readonly Keys[]): RequestOp[] {
  return keys.flatMap(({ claim, counter }) => [{ requestRange: { key: claim } }, { requestRange: { key: counter } }]);
}

function writes({ keys, owner, lease, fence }: Omit<Change, "seen">): RequestOp[] {
  const claim: RequestOp = { requestPut: { key: keys.claim, value: encodeText(owner), lease } };
  return fence === undefined ? [claim] : [claim, { requestPut: { key: keys.counter, value: encodeFence(fence) } }];
}

function deletion(key: Buffer, owner: string, revision?: Int64): TxnRequest {
  const compare: Compare[] = [{ key, target: "VALUE", result: "EQUAL", value: encodeText(owner) }];
  if (revision !== undefined) compare.push({ key, target: "MOD", result: "EQUAL", modRevision: revision });
  return { compare, success: [{ requestDeleteRange: { key } }], failure: [] };
}

/** Joins transactions, each of which takes effect or not on its own. */
function eachAlone(transactions: readonly TxnRequest[]): TxnRequest {
  const [first] = transactions;
  if (first !== undefined && transactions.length === 1) return first;
  return { compare: [], success: transactions.map((requestTxn) => ({ requestTxn })), failure: [] };
}
