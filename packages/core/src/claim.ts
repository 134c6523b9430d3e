import type { RedlockContext } from "./context.ts";
import type { AcquireRequest, ExtendRequest, LockNode, NodeRequest, ReleaseRequest } from "./lock-node.ts";
import type { Quorum } from "./node-sets.ts";
import type { Settings } from "./options.ts";
import {
  anyVote,
  isCertain,
  type NodeCall,
  noVotes,
  QuorumCall,
  type ReplyListener,
  sendTo,
  type Tally,
  type Timed,
  type VoteRule,
} from "./quorum-call.ts";
import type { ReleaseHints } from "./release-notifier.ts";
import { hasCode, readAcquireReply, readExtendReply, readReleaseReply, type Vote } from "./replies.ts";

/** The parameters of an acquire request that vary between attempts. */
export interface AcquireTerms {
  readonly ttlMs: number;
  readonly fenceHint: number;
  /** A claim of this process that the new one may take over. */
  readonly predecessor: Claim | undefined;
  /** The name to enter in the nodes' waiting lists if the request is denied. */
  readonly waiter: string | undefined;
}

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
export class Claim implements ReplyListener {
  readonly resources: readonly string[];
  readonly owner: string;
  readonly #context: RedlockContext;
  readonly #timeoutMs: number;
  readonly #isShared: boolean;
  readonly #reported: readonly string[];
  /** The fence that the request to acquire proposed. */
  #proposedFence = 0;
  #hasEnded = false;
  /** The nodes that were not sent the claim, and those that were asked to claim the resources again. */
  #unsent: Set<LockNode> | undefined;
  #rejoining: Set<LockNode> | undefined;
  /** The nodes that have not replied to the latest release, and those of them that have granted meanwhile. */
  #releasing: Set<LockNode> | undefined;
  #lateGrants: LateGrants | undefined;
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
    this.#timeoutMs = nodeTimeoutMs;
    this.#isShared = mode === "shared";
    this.#reported = reported;
  }

  /** Requests the claim from all nodes. */
  acquire({ ttlMs, fenceHint, predecessor, waiter }: AcquireTerms, rule: VoteRule): Promise<Tally> {
    const { resources, owner } = this;
    const { nodes, servers, epoch } = this.#context;
    const { timeoutMs } = rule;
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
    return this.#ask("acquire", request, readAcquireReply, rule);
  }

  /**
   * Asks all nodes to keep the claim and to raise the fence counters.
   *
   * @param known the votes of nodes that need not be asked
   */
  extend(
    terms: { readonly ttlMs: number; readonly fence: number; readonly rejoin: boolean },
    rule: VoteRule,
    known: Tally["votes"] = noVotes,
  ): Promise<Tally> {
    const { resources, owner } = this;
    const request: Writable<ExtendRequest> = { resources, owner, ...terms, timeoutMs: rule.timeoutMs };
    if (this.#isShared) request.shared = true;
    return this.#ask("extend", request, (value) => readExtendReply(value, terms.fence), rule, {
      known: (_, index) => known[index],
      onSent: (node) => {
        if (!terms.rejoin) return;
        this.#rejoining ??= new Set();
        this.#rejoining.add(node);
      },
    });
  }

  /** Ends the claim and releases it on all nodes. Settles when a quorum has replied, or no quorum can any more. */
  release(quorum: Quorum, hints: ReleaseHints | undefined): Promise<Tally> {
    this.end();
    this.#releasing = new Set(this.#context.nodes);
    for (const node of this.#unsent ?? []) if (!this.#rejoining?.has(node)) this.#releasing.delete(node);
    // Any reply will do: the node no longer holds the claim, whether or not it did before.
    const isDecided = (tally: Tally) => isCertain(tally, quorum);
    const rule = { timeoutMs: this.#timeoutMs, isYes: anyVote, isDecided };
    return this.#ask("release", this.#releaseRequest(hints), readReleaseReply, rule, {
      known: (node) => (this.#releasing?.has(node) ? undefined : notHeld),
    });
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

  #ask(
    method: NodeCall["method"],
    request: NodeRequest,
    read: NodeCall["read"],
    rule: VoteRule,
    { known, onSent }: Pick<NodeCall, "known" | "onSent"> = {},
  ): Promise<Tally> {
    Object.freeze(request);
    const call = { method, request, resources: this.#reported, listener: this, read, known, onSent };
    return new QuorumCall(this.#context, call, rule).run();
  }

  /**
   * Called with each reply of a node. Undoes a late grant. A failure counts as one, as it does not show what the node
   * did. Where the reply to a release in flight may show that it came after the grant, waits for that reply, at most for
   * `nodeTimeoutMs`.
   */
  onReply(method: NodeCall["method"], node: LockNode, vote: Vote): void {
    const { kind, fence } = vote;
    if (method === "release") {
      this.#onReleased(node, kind);
      return;
    }
    const isAcquire = method === "acquire";
    if (isAcquire && this.#predecessor !== undefined) this.#confirm(node, kind, this.#predecessor);
    if (kind === "failed" && hasCode(vote, "NOT_SENT")) {
      if (!isAcquire) return;
      this.#unsent ??= new Set();
      this.#unsent.add(node);
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
    if (this.#isShared || !grantsProposal || !this.#releasing?.has(node)) {
      this.#releaseOn([node], undo);
      return;
    }
    this.#lateGrants ??= new LateGrants(this.#context, this.#timeoutMs, (silent) => this.#onReleased(silent, "failed"));
    this.#lateGrants.nodes.add(node);
  }

  /** Notes the reply to a takeover. */
  #confirm(node: LockNode, kind: Vote["kind"], predecessor: Claim): void {
    if (!this.#unconfirmed.includes(node)) return;
    this.#unconfirmed = this.#unconfirmed.filter((other) => other !== node);
    if (kind === "granted") return;
    if (this.#hasReplaced) predecessor.#releaseOn([node], undo);
    else this.#refused.add(node);
  }

  /** Repeats a release that has freed nothing on a node that granted late. */
  #onReleased(node: LockNode, kind: Vote["kind"]): void {
    this.#releasing?.delete(node);
    const grants = this.#lateGrants;
    if (!grants?.nodes.delete(node)) return;
    if (kind !== "released") this.#releaseOn([node], undo);
    if (grants.nodes.size > 0) return;
    this.#lateGrants = undefined;
    grants.stop();
  }

  #releaseRequest(hints: ReleaseHints | undefined): ReleaseRequest {
    const { resources, owner } = this;
    return { resources, owner, timeoutMs: this.#timeoutMs, ...hints };
  }

  /** Releases on these nodes, best effort: the claim expires with its ttl in any case. */
  #releaseOn(nodes: readonly LockNode[], hints: ReleaseHints): void {
    if (nodes.length === 0) return;
    const { limit } = this.#context;
    const request = Object.freeze(this.#releaseRequest(hints));
    const call = { method: "release", request, read: readReleaseReply } as const;
    this.#releasing ??= new Set();
    for (const node of nodes) {
      if (this.#unsent?.has(node) && !this.#rejoining?.has(node)) continue;
      this.#releasing.add(node);
      const onVote = ({ kind }: Vote): void => this.#onReleased(node, kind);
      sendTo(limit, this.#timeoutMs, node, call, onVote);
    }
  }
}

/** The nodes whose late grants wait for the reply to a release in flight, all until one deadline. */
class LateGrants implements Timed {
  readonly nodes = new Set<LockNode>();
  readonly #context: RedlockContext;
  readonly #timeoutMs: number;
  readonly #onSilent: (node: LockNode) => void;
  #cancelTimer: (() => void) | undefined;
  addedAtTurn = 0;
  earlier: Timed | undefined;
  later: Timed | undefined;

  constructor(context: RedlockContext, timeoutMs: number, onSilent: (node: LockNode) => void) {
    this.#context = context;
    this.#timeoutMs = timeoutMs;
    this.#onSilent = onSilent;
    context.limit.begin(timeoutMs); // so that `close()` waits for the repeated release
    context.openCalls.add(this);
  }

  startTimer(): void {
    const { clock } = this.#context;
    const onDeadline = () => {
      for (const node of [...this.nodes]) this.#onSilent(node);
    };
    const onTimer = () => clock.afterPendingIo(onDeadline);
    this.#cancelTimer = clock.startTimer(this.#timeoutMs, onTimer, { background: true });
  }

  stop(): void {
    this.#context.openCalls.remove(this);
    this.#cancelTimer?.();
    this.#context.limit.end();
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
