import type { RedlockContext } from "./context.ts";
import type { AcquireRequest, LockNode, ReleaseRequest } from "./lock-node.ts";
import { anyVote, isCertain, type NodeCall, QuorumCall, sendTo, type Tally, type VoteRule } from "./quorum-call.ts";
import type { ReleaseHints } from "./release-notifier.ts";
import { readAcquireReply, readExtendReply, readReleaseReply, type Vote } from "./replies.ts";

/** What an acquire asks for, beside the claim itself. */
export interface AcquireTerms {
  readonly ttlMs: number;
  readonly fenceHint: number;
  /** A claim of this process that this one may take over. */
  readonly predecessor: Claim | undefined;
  /** The name in the nodes' waiting lists of the client that goes on waiting if this is denied. */
  readonly waiter: string | undefined;
}

/** The release of a claim that never became a lock. */
const undo: ReleaseHints = { undo: true };

/**
 * What one owner claims on the nodes: the only place that sends requests under that owner's name. Once the claim has
 * ended, each reply to an earlier request that may have left something of it behind is followed by another release to that
 * node (S4), whenever the reply comes and in whatever order the node got the messages.
 *
 * One such reply proves that a release which is under way has freed the claim, or will: a grant of the very fence that
 * was proposed, if the node then says that it has released something. Whenever this owner gets hold of the node, its counter
 * is at the proposal or beyond. So had the node been asked after the release that found a claim, this one or a copy of
 * it, it would have advanced the counter, and granted a higher fence.
 */
export class Claim {
  readonly resources: readonly string[];
  readonly owner: string;
  readonly #context: RedlockContext;
  readonly #timeoutMs: number;
  readonly #reported: readonly string[];
  #hasEnded = false;
  #release: QuorumCall | undefined;
  /** The claim that this one takes over; the nodes that have not answered that, and those that did not grant it. */
  #predecessor: Claim | undefined;
  #unconfirmed: readonly LockNode[] = [];
  readonly #refused: LockNode[] = [];
  #hasReplaced = false;

  /**
   * @param context the nodes
   * @param resources sorted, without duplicates, frozen
   * @param owner used by this claim alone (S5)
   * @param timeoutMs how long a node may take to answer a release
   * @param reported what events name, where the claim is for a part of it
   */
  constructor(
    context: RedlockContext,
    resources: readonly string[],
    owner: string,
    timeoutMs: number,
    reported: readonly string[] = resources,
  ) {
    this.#context = context;
    this.resources = resources;
    this.owner = owner;
    this.#timeoutMs = timeoutMs;
    this.#reported = reported;
  }

  /** Asks all nodes for the claim. */
  acquire({ ttlMs, fenceHint, predecessor, waiter }: AcquireTerms, rule: VoteRule): Promise<Tally> {
    const { resources, owner } = this;
    const { nodes, servers } = this.#context;
    const { timeoutMs } = rule;
    const request: Writable<AcquireRequest> = { resources, owner, ttlMs, fenceHint, timeoutMs, servers };
    if (waiter !== undefined) request.waiter = waiter;
    if (predecessor !== undefined) {
      request.takeover = predecessor.owner;
      this.#predecessor = predecessor;
      this.#unconfirmed = nodes;
    }
    Object.freeze(request);
    const onReply = (node: LockNode, vote: Vote): void => {
      this.#onReply(node, vote, fenceHint);
      if (predecessor !== undefined) this.#confirm(node, vote);
    };
    const send = (node: LockNode) => node.acquire(request);
    const call: NodeCall = {
      nodes,
      method: "acquire",
      resources: this.#reported,
      send,
      read: readAcquireReply,
      onReply,
    };
    return new QuorumCall(this.#context, call, rule).run();
  }

  /** Asks some of the nodes to keep the claim and to raise the fence counters. */
  extend(
    nodes: readonly LockNode[],
    terms: { readonly ttlMs: number; readonly fence: number; readonly rejoin: boolean },
    rule: VoteRule,
  ): Promise<Tally> {
    const { resources, owner } = this;
    const request = Object.freeze({ resources, owner, ...terms, timeoutMs: rule.timeoutMs });
    const call: NodeCall = {
      nodes,
      method: "extend",
      resources: this.#reported,
      send: (node) => node.extend(request),
      read: (value) => readExtendReply(value, terms.fence),
      onReply: (node, vote) => this.#onReply(node, vote, 0),
    };
    return new QuorumCall(this.#context, call, rule).run();
  }

  /** Ends the claim and asks all nodes to free it. Is decided when a quorum has answered, or none can any more. */
  release(quorum: number, hints: ReleaseHints | undefined): Promise<Tally> {
    this.end();
    const { nodes } = this.#context;
    const request = this.#releaseRequest(hints);
    const send = (node: LockNode) => node.release(request);
    const call: NodeCall = { nodes, method: "release", resources: this.#reported, send, read: readReleaseReply };
    // Whether a node still held the claim does not matter: it does not now.
    const isDecided = (tally: Tally) => isCertain(tally, quorum);
    this.#release = new QuorumCall(this.#context, call, { timeoutMs: this.#timeoutMs, isYes: anyVote, isDecided });
    return this.#release.run();
  }

  /** Ends the claim and asks all nodes to free it, without waiting for them. With `hints`, as an ordinary release. */
  withdraw(hints: ReleaseHints = undo): void {
    this.end();
    this.#releaseOn(this.#context.nodes, hints);
  }

  /** From now on, a reply that may have left something of the claim behind is undone. */
  end(): void {
    this.#hasEnded = true;
    const predecessor = this.#predecessor;
    if (predecessor !== undefined && this.#hasReplaced) predecessor.#releaseOn(this.#unconfirmed, undo);
    this.#predecessor = undefined;
  }

  /**
   * This claim has become a lock, and ends its predecessor: on nodes that have confirmed it by their grant, nothing is left
   * to do; on those that answered otherwise, the predecessor is released, now or when they answer; on those that never
   * answer, when this claim ends.
   */
  replacePredecessor(): void {
    if (this.#predecessor === undefined) return;
    this.#hasReplaced = true;
    this.#predecessor.end();
    this.#predecessor.#releaseOn(this.#refused, undo);
  }

  #confirm(node: LockNode, { kind }: Vote): void {
    if (!this.#unconfirmed.includes(node)) return;
    this.#unconfirmed = this.#unconfirmed.filter((other) => other !== node);
    const predecessor = this.#predecessor;
    if (predecessor === undefined || kind === "granted") return;
    if (this.#hasReplaced) predecessor.#releaseOn([node], undo);
    else this.#refused.push(node);
  }

  /** Undoes what a late reply may have left behind: a failure does not show what the node did. */
  #onReply(node: LockNode, { kind, fence }: Vote, proposedFence: number): void {
    if (!this.#hasEnded || kind === "denied" || kind === "not-held") return;
    const settleRelease = (release?: Vote): void => {
      if (release?.kind !== "released") this.#releaseOn([node], undo);
    };
    if (fence !== proposedFence || !this.#release?.whenAnswered(node, settleRelease)) settleRelease();
  }

  #releaseRequest(hints: ReleaseHints | undefined): ReleaseRequest {
    const { resources, owner } = this;
    return Object.freeze({ resources, owner, timeoutMs: this.#timeoutMs, ...hints });
  }

  /** Best effort: the claim ends with its ttl in any case. */
  #releaseOn(nodes: readonly LockNode[], hints: ReleaseHints): void {
    if (nodes.length === 0) return;
    const request = this.#releaseRequest(hints);
    const { requests } = this.#context;
    for (const node of nodes) sendTo(requests, this.#timeoutMs, node, () => node.release(request), ignore, ignore);
  }
}

function ignore(): void {}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

const ownerBytes = 16;

// Asking the system for randomness costs far more than copying it, so the pool serves many owners.
const pool = new Uint8Array(ownerBytes * 128);
let used = pool.length;

const hexOf = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** A fresh value of 128 random bits that signs one attempt, led by a human label if there is one. */
export function freshOwner(label?: string): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  used += ownerBytes;
  let owner = label === undefined ? "" : `${label}:`;
  for (let index = used - ownerBytes; index < used; index++) owner += hexOf[pool[index] as number];
  return owner;
}
