import type { RedlockContext } from "./context.ts";
import type { AcquireRequest, ExtendRequest, LockNode, ReleaseRequest } from "./lock-node.ts";
import type { Settings } from "./options.ts";
import { type NodeCall, type OpenCall, QuorumCall, sendTo, type VoteRule } from "./quorum-call.ts";
import type { ReleaseHints } from "./release-notifier.ts";
import { hasCode, type Quorum, type Tally, type Vote } from "./votes.ts";

/** The parameters of an acquire request that vary between attempts. */
export interface AcquireTerms {
  readonly ttlMs: number;
  readonly fenceHint: number;
  readonly timeoutMs: number;
  /** A claim of this process that the new one may take over. */
  readonly predecessor: Claim | undefined;
  /** The name to enter in the nodes' waiting lists if the request is denied. */
  readonly waiter: string | undefined;
}

/** The parameters of a request to extend. */
export type ExtendTerms = Pick<ExtendRequest, "ttlMs" | "fence" | "rejoin" | "timeoutMs">;

const notHeld: Vote = { kind: "not-held" };

/** Marks the release of a claim that never became a lock. */
const undo: ReleaseHints = { undo: true };

/**
 * The claim of one owner on the nodes. Only this class sends requests under that owner.
 *
 * After the claim has ended, a late reply to an earlier request may mean that the node holds the claim again. Each such
 * reply triggers another release on that node (S4), however late it arrives and in whatever order the node received the
 * messages.
 *
 * The extra release is unnecessary in one case: the node granted exactly the proposed fence, and then confirms that the
 * release already in flight freed something. Every grant to this owner leaves the counter at the proposal or above. Had
 * the node processed the acquire (or a copy of it) after that release, it would have advanced the counter and granted a
 * higher fence. A shared claim that joins others does not advance it, so this says nothing about shared claims.
 */
export class Claim implements OpenCall {
  readonly resources: readonly string[];
  /** The resources that events name. */
  readonly reported: readonly string[];
  readonly owner: string;
  /** How long a node may take to reply to a release. */
  readonly timeoutMs: number;
  readonly #context: RedlockContext;
  readonly #isShared: boolean;
  /** The fence that the request to acquire proposed. */
  #proposedFence = 0;
  #hasEnded = false;
  /** The number of requests that make the claim, and of how many of them each node was not sent. */
  #requests = 0;
  #unsent: Map<LockNode, number> | undefined;
  /** The nodes that have not replied to the latest release. */
  #releasing: Set<LockNode> | undefined;
  /** The nodes that have granted since a release was sent, until they reply to it: an open call with a deadline. */
  #lateGrants: Set<LockNode> | undefined;
  readonly isBackground = true;
  readonly endsOnClose = false;
  addedAtTurn = 0;
  earlier: OpenCall | undefined;
  later: OpenCall | undefined;
  cancelTimer: (() => void) | undefined;
  /** The claim that this one takes over, the nodes that have not replied to the takeover, and those that refused it. */
  #predecessor: Claim | undefined;
  #unconfirmed: readonly LockNode[] = [];
  readonly #refused = new Set<LockNode>();
  #hasReplaced = false;
  /** The claim that takes over this one, or tries to. */
  #successor: Claim | undefined;

  /**
   * @param context the shared state of the `Redlock`
   * @param resources sorted, without duplicates, frozen
   * @param owner used by no other claim (S5)
   * @param settings whether the claim is shared, and how long a node may take to reply to a release
   * @param reported the resources that events name, if the claim covers only some of them
   */
  constructor(
    context: RedlockContext,
    resources: readonly string[],
    owner: string,
    { nodeTimeoutMs, mode }: Pick<Settings, "nodeTimeoutMs" | "mode">,
    reported: readonly string[] = resources,
  ) {
    this.#context = context;
    this.resources = resources;
    this.owner = owner;
    this.timeoutMs = nodeTimeoutMs;
    this.#isShared = mode === "shared";
    this.reported = reported;
  }

  /** Requests the claim from all nodes. */
  acquire({ ttlMs, fenceHint, timeoutMs, predecessor, waiter }: AcquireTerms, rule: VoteRule): Promise<Tally> {
    const { resources, owner } = this;
    const { nodes, servers, epoch } = this.#context;
    const request: Writable<AcquireRequest> = { resources, owner, ttlMs, fenceHint, timeoutMs, servers };
    if (this.#isShared) request.shared = true;
    if (epoch !== undefined) request.epoch = epoch;
    if (waiter !== undefined) request.waiter = waiter;
    if (predecessor !== undefined) {
      request.takeover = predecessor.owner;
      this.#predecessor = predecessor;
      this.#unconfirmed = nodes;
      predecessor.#successor = this;
    }
    this.#proposedFence = fenceHint;
    this.#requests += 1;
    Object.freeze(request);
    return new QuorumCall(this.#context, { method: "acquire", request, timeoutMs, caller: this }, rule).settled;
  }

  /** Asks all nodes to keep the claim and to raise the fence counters. */
  extend(terms: ExtendTerms, rule: VoteRule): Promise<Tally> {
    const { resources, owner } = this;
    const request: Writable<ExtendRequest> = { resources, owner, ...terms };
    if (this.#isShared) request.shared = true;
    if (terms.rejoin) this.#requests += 1;
    Object.freeze(request);
    const { timeoutMs } = terms;
    return new QuorumCall(this.#context, { method: "extend", request, timeoutMs, caller: this }, rule).settled;
  }

  /** Ends the claim and releases it on all nodes. Settles when a quorum has replied, or no quorum can any more. */
  release(quorum: Quorum, hints: ReleaseHints | undefined): Promise<Tally> {
    this.end();
    const { resources, owner, timeoutMs } = this;
    const { nodes } = this.#context;
    this.#releasing = new Set(nodes);
    for (const node of this.#unsent?.keys() ?? []) if (!this.#mayBeOn(node)) this.#releasing.delete(node);
    // Any reply will do: the node no longer holds the claim, whether or not it did before.
    const known = this.#unsent && nodes.map((node) => (this.#releasing?.has(node) ? undefined : notHeld));
    const request: ReleaseRequest = Object.freeze({ resources, owner, timeoutMs, ...hints });
    const call: NodeCall = { method: "release", request, timeoutMs, caller: this };
    return new QuorumCall(this.#context, call, { quorum, known }).settled;
  }

  /**
   * Ends the claim and releases it on all nodes without waiting for replies, as an undo unless `hints` says otherwise.
   */
  withdraw(hints: ReleaseHints = undo): void {
    this.end();
    this.#releaseOn(this.#context.nodes, hints);
  }

  /** Ends the claim: from then on, any reply that may have re-created it on a node triggers a release there. */
  end(): void {
    this.#hasEnded = true;
    const predecessor = this.#predecessor;
    if (predecessor !== undefined && this.#hasReplaced) predecessor.#releaseOn(this.#unconfirmed, undo);
    this.#predecessor = undefined;
  }

  /**
   * Ends the predecessor, as this claim has become a lock. Nodes that granted the takeover need nothing more. The
   * predecessor is released on nodes that refused it, immediately or when they reply, and on nodes that never reply,
   * when this claim ends.
   */
  replacePredecessor(): void {
    if (this.#predecessor === undefined) return;
    this.#hasReplaced = true;
    this.#predecessor.end();
    this.#predecessor.#releaseOn([...this.#refused], undo);
  }

  /**
   * Called with each reply of a node. Undoes a late grant. A failure counts as one, as it does not show what the node
   * did. Where the reply to a release in flight may show that it came after the grant, waits for that reply, at most for
   * `nodeTimeoutMs`.
   */
  onReply({ method, request }: NodeCall, node: LockNode, vote: Vote): void {
    const { kind, fence } = vote;
    if (method === "release") {
      this.#releasing?.delete(node);
      if (this.#lateGrants?.has(node)) this.#settleLateGrant(node, kind);
      return;
    }
    const isAcquire = method === "acquire";
    if (isAcquire && this.#predecessor !== undefined) this.#confirm(node, kind, this.#predecessor);
    if (kind === "failed" && hasCode(vote, "NOT_SENT")) {
      if (!isAcquire && !(request as ExtendRequest).rejoin) return;
      this.#unsent ??= new Map();
      this.#unsent.set(node, (this.#unsent.get(node) ?? 0) + 1);
      return;
    }
    if (kind === "denied" || kind === "not-held") return;
    if (!this.#hasEnded) {
      // The node may have granted this claim beside a takeover that overtook it, if both are shared.
      const successor = this.#successor;
      if (successor !== undefined && this.#isShared) successor.#refused.add(node);
      return;
    }
    const grantsProposal = isAcquire && fence === this.#proposedFence;
    if (this.#isShared || !grantsProposal || !this.#releasing?.has(node)) this.#releaseOn([node], undo);
    else this.#awaitRelease(node);
  }

  /** Notes the reply to a takeover. */
  #confirm(node: LockNode, kind: Vote["kind"], predecessor: Claim): void {
    if (!this.#unconfirmed.includes(node)) return;
    this.#unconfirmed = this.#unconfirmed.filter((other) => other !== node);
    if (kind === "granted") return;
    if (this.#hasReplaced) predecessor.#releaseOn([node], undo);
    else this.#refused.add(node);
  }

  /** Waits for the reply to the release in flight on a node that has granted late. */
  #awaitRelease(node: LockNode): void {
    if (this.#lateGrants === undefined) {
      this.#lateGrants = new Set();
      this.#context.limit.begin(this.timeoutMs); // so that `close()` waits for the repeated release
      this.#context.openCalls.add(this);
    }
    this.#lateGrants.add(node);
  }

  /** Repeats the release on the nodes that have not replied to it. */
  onDeadline(): void {
    for (const node of this.#lateGrants ?? []) this.#settleLateGrant(node, "failed");
  }

  /** Repeats a release that has freed nothing on a node that granted late. */
  #settleLateGrant(node: LockNode, kind: Vote["kind"]): void {
    this.#lateGrants?.delete(node);
    if (kind !== "released") this.#releaseOn([node], undo);
    if (this.#lateGrants === undefined || this.#lateGrants.size > 0) return;
    this.#lateGrants = undefined;
    this.#context.openCalls.remove(this);
    this.#context.limit.end();
  }

  /** Releases on these nodes, best effort: the claim expires with its ttl in any case. */
  #releaseOn(nodes: readonly LockNode[], hints: ReleaseHints): void {
    if (nodes.length === 0) return;
    const { resources, owner, timeoutMs } = this;
    const request: ReleaseRequest = Object.freeze({ resources, owner, timeoutMs, ...hints });
    const call: NodeCall = { method: "release", request, timeoutMs, caller: this };
    this.#releasing ??= new Set();
    for (const node of nodes) {
      if (!this.#mayBeOn(node)) continue;
      this.#releasing.add(node);
      sendTo(this.#context.limit, node, call);
    }
  }

  /** Whether a node was sent a request that makes the claim. */
  #mayBeOn(node: LockNode): boolean {
    const unsent = this.#unsent?.get(node);
    return unsent === undefined || unsent < this.#requests;
  }
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

const ownerBytes = 16;

// One system call for random bytes costs far more than copying them, so each fill serves many owners.
const pool = new Uint8Array(ownerBytes * 128);
let used = pool.length;

const hexOf = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/**
 * Returns a fresh value of 128 random bits that signs one attempt, prefixed by the label if there is one. The tools that
 * change servers read the epoch at its end.
 */
export function freshOwner(label?: string, epoch?: number): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  used += ownerBytes;
  let owner = label === undefined ? "" : `${label}:`;
  for (let index = used - ownerBytes; index < used; index++) owner += hexOf[pool[index] as number];
  return epoch === undefined ? owner : `${owner}.${epoch}`;
}
