import { type Answer, anyAnswer, isCertain, type Tally } from "./answers.ts";
import { type Ballot, Broadcast, type Question, send } from "./broadcast.ts";
import type { Clock } from "./clock.ts";
import type { FenceHint } from "./fence-hint.ts";
import type { AcquireRequest, LockNode, ReleaseRequest } from "./lock-node.ts";
import type { Observer } from "./observer.ts";
import { readAcquireReply, readExtendReply, readReleaseReply } from "./reply.ts";

/** What all operations of one `Redlock` work with. */
export interface Ensemble {
  readonly nodes: readonly LockNode[];
  readonly clock: Clock;
  /** Never throws. */
  readonly observer: Observer;
  readonly fenceHint: FenceHint;
  /** What this `Redlock` is called in the lines that nodes keep of those who wait. */
  readonly waiter: string;
}

/** What may get a lock sooner. */
export interface ClaimHints {
  /** A claim that this one may take over: withdrawn by it, and released on nodes that do not grant. */
  readonly predecessor?: Claim | undefined;
  /** Who goes on waiting if this is denied. */
  readonly waiter?: string | undefined;
}

/** What a release is besides: see {@link ReleaseRequest}. */
export type ReleaseTerms = Pick<ReleaseRequest, "waiter" | "undo">;

/** The release of a claim that never became a lock. */
export const undo: ReleaseTerms = { undo: true };

/**
 * What one owner claims on the nodes: the only place that sends requests under that owner's name. Once it has been
 * withdrawn, every answer to an earlier request that may have left a claim behind is followed by another release to
 * that node (S4), whenever the answer comes and in whatever order the node got the messages.
 *
 * One such answer proves that a release which is under way has freed the claim, or will: a grant of the very fence that
 * was proposed, if the node then says that it has released something. Whenever this owner gets hold of the node, its counter
 * is at the proposal or beyond. So had the node been asked after the release that found a claim, this one or a copy of
 * it, it would have advanced the counter, and granted a higher fence.
 */
export class Claim {
  readonly resources: readonly string[];
  readonly owner: string;
  readonly #ensemble: Ensemble;
  readonly #timeoutMs: number;
  #withdrawn = false;
  /** What it took over, and the nodes that have not said yet whether they let it. */
  #predecessor: Claim | undefined;
  #unheard: LockNode[] = [];
  #release: Broadcast | undefined;

  /**
   * @param ensemble the nodes
   * @param resources sorted, without duplicates, frozen
   * @param owner used by this claim alone (S5)
   * @param timeoutMs how long a node may take to answer a release
   */
  constructor(ensemble: Ensemble, resources: readonly string[], owner: string, timeoutMs: number) {
    this.#ensemble = ensemble;
    this.resources = resources;
    this.owner = owner;
    this.#timeoutMs = timeoutMs;
  }

  /** Asks all nodes for the claim. */
  acquire(ttlMs: number, fenceHint: number, ballot: Ballot, { predecessor, waiter }: ClaimHints): Promise<Tally> {
    const { resources, owner } = this;
    const request: Writable<AcquireRequest> = { resources, owner, ttlMs, fenceHint, timeoutMs: ballot.timeoutMs };
    if (waiter !== undefined) request.waiter = waiter;
    if (predecessor !== undefined) {
      request.takeover = predecessor.owner;
      predecessor.#withdraw();
      this.#predecessor = predecessor;
      this.#unheard = [...this.#ensemble.nodes];
    }
    Object.freeze(request);
    const question: Question = {
      nodes: this.#ensemble.nodes,
      method: "acquire",
      resources,
      ask: (node) => node.acquire(request),
      read: readAcquireReply,
      heard: (node, answer) => {
        this.#hear(node, answer, fenceHint);
        if (predecessor === undefined) return;
        this.#unheard = this.#unheard.filter((other) => other !== node);
        if (answer.kind !== "granted") predecessor.#releaseUnheard([node], undo);
      },
    };
    return new Broadcast(this.#ensemble, question, ballot).ask();
  }

  /** Asks some of the nodes to keep the claim and to raise the fence counters. */
  extend(
    nodes: readonly LockNode[],
    terms: { readonly ttlMs: number; readonly fence: number; readonly rejoin: boolean },
    ballot: Ballot,
  ): Promise<Tally> {
    const { resources, owner } = this;
    const request = Object.freeze({ resources, owner, ...terms, timeoutMs: ballot.timeoutMs });
    const question: Question = {
      nodes,
      method: "extend",
      resources,
      ask: (node) => node.extend(request),
      read: (value) => readExtendReply(value, terms.fence),
      heard: (node, answer) => this.#hear(node, answer, 0),
    };
    return new Broadcast(this.#ensemble, question, ballot).ask();
  }

  /** Withdraws the claim and asks all nodes to free it. Is certain when a quorum has answered, or none can any more. */
  release(quorum: number, terms: ReleaseTerms | undefined): Promise<Tally> {
    this.#withdraw();
    const request = this.#releaseRequest(terms);
    const question: Question = {
      nodes: this.#ensemble.nodes,
      method: "release",
      resources: this.resources,
      ask: (node) => node.release(request),
      read: readReleaseReply,
    };
    // Whether they still held the claim does not matter: they do not now.
    const isDecided = (tally: Tally) => isCertain(tally, quorum);
    this.#release = new Broadcast(this.#ensemble, question, {
      timeoutMs: this.#timeoutMs,
      isYes: anyAnswer,
      isDecided,
    });
    return this.#release.ask();
  }

  /** Withdraws the claim and asks all nodes to free it, without waiting for them. */
  withdraw(terms?: ReleaseTerms): void {
    this.#withdraw();
    this.#releaseUnheard(this.#ensemble.nodes, terms);
  }

  /** Also where what it took over may still be, as a node has not answered. */
  #withdraw(): void {
    this.#withdrawn = true;
    const predecessor = this.#predecessor;
    if (predecessor !== undefined) predecessor.#releaseUnheard(this.#unheard, undo);
    this.#predecessor = undefined;
  }

  /** Undoes what a late answer may have left behind: a failure tells nothing about what the node did. */
  #hear(node: LockNode, { kind, fence }: Answer, proposedFence: number): void {
    if (!this.#withdrawn || kind === "denied" || kind === "not-held") return;
    const judge = (release?: Answer): void => {
      if (release?.kind !== "released") this.#releaseUnheard([node], undo);
    };
    if (fence !== proposedFence || !this.#release?.follow(node, judge)) judge();
  }

  #releaseRequest(terms: ReleaseTerms | undefined): ReleaseRequest {
    const { resources, owner } = this;
    return Object.freeze({ resources, owner, timeoutMs: this.#timeoutMs, ...terms });
  }

  /** Whatever comes of it: the claim ends with its ttl. */
  #releaseUnheard(nodes: readonly LockNode[], terms: ReleaseTerms | undefined): void {
    const request = this.#releaseRequest(terms);
    for (const node of nodes) send(node, () => node.release(request), ignore, ignore);
  }
}

function ignore(): void {}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };
