import { type Answer, broadcast } from "./broadcast.ts";
import type { Clock } from "./clock.ts";
import type { FenceHint } from "./fence-hint.ts";
import type { AcquireReply, ExtendReply, LockNode, ReleaseReply, ReleaseRequest } from "./lock-node.ts";
import type { SafeObserver } from "./observer.ts";
import { readAcquireReply, readExtendReply, readReleaseReply } from "./reply.ts";

/** What all operations of one `Redlock` work with. */
export interface Ensemble {
  readonly nodes: readonly LockNode[];
  readonly clock: Clock;
  readonly observer: SafeObserver;
  readonly fenceHint: FenceHint;
}

/** How a question to the nodes is judged and bounded. */
export interface Ballot<Reply> {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  isDecided(answers: readonly Answer<Reply>[]): boolean;
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
  acquire(ttlMs: number, fenceHint: number, ballot: Ballot<AcquireReply>): Promise<Answer<AcquireReply>[]> {
    const { resources, owner } = this;
    const request = Object.freeze({ resources, owner, ttlMs, fenceHint, timeoutMs: ballot.timeoutMs });
    return broadcast<AcquireReply>({
      ...ballot,
      ...this.#claiming("acquire", this.#ensemble.nodes, ballot.timeoutMs),
      ask: (node) => node.acquire(request),
      read: readAcquireReply,
    });
  }

  /** Asks some of the nodes to keep the claim and to raise the fence counters. */
  extend(
    nodes: readonly LockNode[],
    terms: { readonly ttlMs: number; readonly fence: number; readonly rejoin: boolean },
    ballot: Ballot<ExtendReply>,
  ): Promise<Answer<ExtendReply>[]> {
    const { resources, owner } = this;
    const request = Object.freeze({ resources, owner, ...terms, timeoutMs: ballot.timeoutMs });
    return broadcast<ExtendReply>({
      ...ballot,
      ...this.#claiming("extend", nodes, ballot.timeoutMs),
      ask: (node) => node.extend(request),
      read: (value) => readExtendReply(value, terms.fence),
    });
  }

  /** Withdraws the claim and asks all nodes to free it. */
  release(ballot: Ballot<ReleaseReply>): Promise<Answer<ReleaseReply>[]> {
    this.#withdrawn = true;
    const request = this.#releaseRequest(ballot.timeoutMs);
    return broadcast<ReleaseReply>({
      ...ballot,
      ...this.#question("release", this.#ensemble.nodes),
      ask: (node) => node.release(request),
      read: readReleaseReply,
    });
  }

  /** Withdraws the claim and asks all nodes to free it, without waiting for them. */
  withdraw(timeoutMs: number): void {
    this.#withdrawn = true;
    for (const node of this.#ensemble.nodes) void this.#releaseUnheard(node, timeoutMs);
  }

  /** What all questions have in common. */
  #question(method: "acquire" | "extend" | "release", nodes: readonly LockNode[]) {
    const { clock, observer } = this.#ensemble;
    return {
      nodes,
      clock,
      failed: (node: LockNode, error: Error): void => {
        observer.nodeFailed({ node: node.name, method, resources: this.resources, error });
      },
    };
  }

  /** What the questions have in common that may leave a claim on a node. */
  #claiming(method: "acquire" | "extend", nodes: readonly LockNode[], timeoutMs: number) {
    return {
      ...this.#question(method, nodes),
      heard: (node: LockNode, answer: AcquireReply | ExtendReply | Error): void => {
        if (this.#withdrawn && mayHold(answer)) void this.#releaseUnheard(node, timeoutMs);
      },
    };
  }

  #releaseRequest(timeoutMs: number): ReleaseRequest {
    return Object.freeze({ resources: this.resources, owner: this.owner, timeoutMs });
  }

  async #releaseUnheard(node: LockNode, timeoutMs: number): Promise<void> {
    try {
      await node.release(this.#releaseRequest(timeoutMs));
    } catch {
      // The claim ends with its ttl.
    }
  }
}

/** Whether a node that gave this answer may now hold the claim: a failure tells nothing about what the node did. */
function mayHold(answer: AcquireReply | ExtendReply | Error): boolean {
  if (answer instanceof Error) return true;
  return "granted" in answer ? answer.granted : answer.held || answer.rejoined;
}
