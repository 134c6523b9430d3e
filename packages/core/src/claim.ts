import { type Ballot, broadcast, send } from "./broadcast.ts";
import type { Clock } from "./clock.ts";
import type { FenceHint } from "./fence-hint.ts";
import type { AcquireReply, ExtendReply, LockNode, ReleaseReply, ReleaseRequest } from "./lock-node.ts";
import type { Observer } from "./observer.ts";
import { readAcquireReply, readExtendReply, readReleaseReply } from "./reply.ts";

/** What all operations of one `Redlock` work with. */
export interface Ensemble {
  readonly nodes: readonly LockNode[];
  readonly clock: Clock;
  /** Never throws. */
  readonly observer: Observer;
  readonly fenceHint: FenceHint;
}

/**
 * What one owner claims on the nodes: the only place that sends requests under that owner's name. Once it has been
 * withdrawn, every answer to an earlier request that may have left a claim behind is followed by another release to
 * that node (S4), whenever the answer comes and in whatever order the node got the messages.
 */
export class Claim {
  readonly resources: readonly string[];
  readonly owner: string;
  readonly #ensemble: Ensemble;
  #withdrawn = false;

  /**
   * @param ensemble the nodes
   * @param resources sorted, without duplicates, frozen
   * @param owner used by this claim alone (S5)
   */
  constructor(ensemble: Ensemble, resources: readonly string[], owner: string) {
    this.#ensemble = ensemble;
    this.resources = resources;
    this.owner = owner;
  }

  /** Asks all nodes for the claim. */
  acquire<B extends Ballot<AcquireReply>>(ttlMs: number, fenceHint: number, ballot: B): Promise<B> {
    const { resources, owner } = this;
    const { timeoutMs } = ballot;
    const request = Object.freeze({ resources, owner, ttlMs, fenceHint, timeoutMs });
    const question = {
      nodes: this.#ensemble.nodes,
      method: "acquire" as const,
      resources,
      ask: (node: LockNode) => node.acquire(request),
      read: readAcquireReply,
      heard: (node: LockNode, answer: AcquireReply | Error) => this.#heard(node, answer, timeoutMs),
    };
    return broadcast(this.#ensemble, question, ballot);
  }

  /** Asks some of the nodes to keep the claim and to raise the fence counters. */
  extend<B extends Ballot<ExtendReply>>(
    nodes: readonly LockNode[],
    terms: { readonly ttlMs: number; readonly fence: number; readonly rejoin: boolean },
    ballot: B,
  ): Promise<B> {
    const { resources, owner } = this;
    const { timeoutMs } = ballot;
    const request = Object.freeze({ resources, owner, ...terms, timeoutMs });
    const question = {
      nodes,
      method: "extend" as const,
      resources,
      ask: (node: LockNode) => node.extend(request),
      read: (value: unknown) => readExtendReply(value, terms.fence),
      heard: (node: LockNode, answer: ExtendReply | Error) => this.#heard(node, answer, timeoutMs),
    };
    return broadcast(this.#ensemble, question, ballot);
  }

  /** Withdraws the claim and asks all nodes to free it. */
  release<B extends Ballot<ReleaseReply>>(ballot: B): Promise<B> {
    this.#withdrawn = true;
    const request = this.#releaseRequest(ballot.timeoutMs);
    const question = {
      nodes: this.#ensemble.nodes,
      method: "release" as const,
      resources: this.resources,
      ask: (node: LockNode) => node.release(request),
      read: readReleaseReply,
    };
    return broadcast(this.#ensemble, question, ballot);
  }

  /** Withdraws the claim and asks all nodes to free it, without waiting for them. */
  withdraw(timeoutMs: number): void {
    this.#withdrawn = true;
    this.#releaseUnheard(this.#ensemble.nodes, timeoutMs);
  }

  #heard(node: LockNode, answer: AcquireReply | ExtendReply | Error, timeoutMs: number): void {
    if (this.#withdrawn && mayHold(answer)) this.#releaseUnheard([node], timeoutMs);
  }

  #releaseRequest(timeoutMs: number): ReleaseRequest {
    return Object.freeze({ resources: this.resources, owner: this.owner, timeoutMs });
  }

  /** Whatever comes of it: the claim ends with its ttl. */
  #releaseUnheard(nodes: readonly LockNode[], timeoutMs: number): void {
    const request = this.#releaseRequest(timeoutMs);
    for (const node of nodes) send(node, () => node.release(request), ignore, ignore);
  }
}

function ignore(): void {}

/** Whether a node that gave this answer may now hold the claim: a failure tells nothing about what the node did. */
function mayHold(answer: AcquireReply | ExtendReply | Error): boolean {
  if (answer instanceof Error) return true;
  return "granted" in answer ? answer.granted : answer.held || answer.rejoined;
}
