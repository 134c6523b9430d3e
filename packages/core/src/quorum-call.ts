import type { Clock } from "./clock.ts";
import { NodeTimeoutError, NotSentError } from "./errors.ts";
import type { LockNode } from "./lock-node.ts";
import type { NodeFailedEvent, Observer } from "./observer.ts";
import { onAbort } from "./pause.ts";
import type { RequestLimit } from "./request-limit.ts";
import { hasCode, isCertain, type Quorum, readFailure, readReply, type Tally, type Vote, verdict } from "./votes.ts";

/** A request for any number of nodes. */
export interface NodeCall {
  readonly method: NodeFailedEvent["method"];
  /** The argument of the method. */
  readonly request: unknown;
  /** How long each node has to reply, in milliseconds from the moment when the request leaves. */
  readonly timeoutMs: number;
  readonly caller: Caller;
}

/** See {@link NodeCall.caller}: a claim, if the request is made under an owner. */
export interface Caller {
  /** The resources that events name. */
  readonly reported: readonly string[];
  /** Receives each reply or failure of a node, however late, but no missed deadline. */
  onReply?(call: NodeCall, node: LockNode, vote: Vote): void;
}

/** How to count the votes of a call to all nodes. */
export interface VoteRule {
  readonly quorum: Quorum;
  /** Lets the caller give up: when it aborts, the call settles with the votes so far. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the call settles with the votes so far when the `Redlock` is closed. */
  readonly endsOnClose?: boolean;
  /** The votes of nodes that need not be asked, in the order of the nodes. */
  readonly known?: Tally["votes"] | undefined;
  /** Whether this is the desired reply. Never called for a failure. Default: any reply but a denial. */
  readonly isYes?: (vote: Vote, index: number) => boolean;
  /** Whether the outcome is certain. Default: {@link isCertain}. */
  readonly isDecided?: (tally: Tally, quorum: Quorum) => boolean;
}

/** The part of the context that a quorum call uses. */
export interface CallContext {
  readonly nodes: readonly LockNode[];
  readonly observer: Observer;
  readonly openCalls: OpenCalls;
  readonly limit: RequestLimit;
}

/** Something with a deadline, and its position among the {@link OpenCalls}, which they maintain. */
export interface OpenCall {
  readonly timeoutMs: number;
  /** Whether the deadline does not keep the process alive. */
  readonly isBackground: boolean;
  /** Whether it settles when the `Redlock` is closed. */
  readonly endsOnClose: boolean;
  addedAtTurn: number;
  earlier: OpenCall | undefined;
  later: OpenCall | undefined;
  cancelTimer: (() => void) | undefined;
  onDeadline(): void;
  /** Settles with the votes so far if the outcome is certain, or `isForced`. */
  settle?(isForced: boolean): void;
}

/**
 * The calls that have not settled. Starts the deadline of each two event-loop turns after the call. By then every client
 * has written its requests, including clients that write at the end of a turn, so a process that stalls after a call
 * does not shorten the nodes' time (W7). A call that settles earlier needs no timer.
 *
 * The calls form a linked list. A `Set` would keep much garbage: V8 links each of its tables to the next, so one that
 * has survived for a while keeps all later ones, and what was in them, until the next full collection.
 */
export class OpenCalls {
  readonly #clock: Clock;
  #first: OpenCall | undefined;
  #last: OpenCall | undefined;
  /** The first call whose deadline has not started. */
  #untimed: OpenCall | undefined;
  #turns = 0;
  #isTurning = false;

  /** @param clock schedules the turns and timers */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adds a call. Starts its timer after two turns unless it is removed before. */
  add(call: OpenCall): void {
    call.addedAtTurn = this.#turns;
    call.earlier = this.#last;
    if (this.#last) this.#last.later = call;
    else this.#first = call;
    this.#last = call;
    this.#untimed ??= call;
    if (this.#isTurning) return;
    this.#isTurning = true;
    this.#clock.afterPendingIo(this.#onTurn);
  }

  /** Removes a call, and cancels its deadline. */
  remove(call: OpenCall): void {
    const { earlier, later } = call;
    if (this.#untimed === call) this.#untimed = later;
    if (earlier) earlier.later = later;
    else this.#first = later;
    if (later) later.earlier = earlier;
    else this.#last = earlier;
    call.earlier = undefined;
    call.later = undefined;
    call.cancelTimer?.();
    call.cancelTimer = undefined;
  }

  /** Settles the calls whose outcome is certain by now, as their rule may decide differently, or that end on closing. */
  reconsider(isClosing: boolean = false): void {
    const calls: OpenCall[] = [];
    for (let call = this.#first; call; call = call.later) calls.push(call);
    for (const call of calls) call.settle?.(isClosing && call.endsOnClose);
  }

  readonly #onTurn = (): void => {
    this.#turns += 1;
    for (let next = this.#untimed; next && next.addedAtTurn + 2 <= this.#turns; next = this.#untimed) {
      const call = next;
      this.#untimed = call.later;
      // The deadline is checked only after pending input was handled (S6).
      const onTimer = () => this.#clock.afterPendingIo(() => call.onDeadline());
      call.cancelTimer = this.#clock.startTimer(call.timeoutMs, onTimer, { background: call.isBackground });
    }
    this.#isTurning = this.#untimed !== undefined;
    if (this.#isTurning) this.#clock.afterPendingIo(this.#onTurn);
  };
}

/** A call to all nodes at once, and the tally of their votes. */
export class QuorumCall implements OpenCall, Tally {
  readonly votes: (Vote | undefined)[];
  readonly verdicts: number[];
  /**
   * Resolves as soon as the outcome is certain, all nodes have replied, or the deadline has passed. Never rejects and never
   * hangs (S6). The tally does not change afterwards.
   */
  readonly settled: Promise<Tally>;
  readonly timeoutMs: number;
  readonly isBackground = false;
  readonly endsOnClose: boolean;
  readonly #context: CallContext;
  readonly #call: NodeCall;
  readonly #rule: VoteRule;
  #resolve: ((tally: Tally) => void) | undefined;
  #stopListening: (() => void) | undefined;
  #isSettled = false;
  addedAtTurn = 0;
  earlier: OpenCall | undefined;
  later: OpenCall | undefined;
  cancelTimer: (() => void) | undefined;

  /**
   * Sends a request to all nodes at the same time.
   *
   * @param context the nodes, the observer, and the other open calls
   * @param call the request
   * @param rule how to count the votes
   */
  constructor(context: CallContext, call: NodeCall, rule: VoteRule) {
    const { nodes, openCalls, limit } = context;
    const { signal, known, endsOnClose = false } = rule;
    this.#context = context;
    this.#call = call;
    this.#rule = rule;
    this.timeoutMs = call.timeoutMs;
    this.endsOnClose = endsOnClose;
    this.votes = new Array(nodes.length).fill(undefined);
    this.verdicts = new Array(nodes.length).fill(verdict.missing);
    this.settled = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    openCalls.add(this);
    if (signal) this.#stopListening = onAbort(signal, () => this.settle(true));
    for (const node of nodes) {
      const vote = known?.[nodes.indexOf(node)];
      if (vote === undefined) sendTo(limit, node, call, this);
      else void Promise.resolve(vote).then(() => this.count(node, vote));
    }
  }

  /** Counts the vote of a node, unless it has voted or the call has settled. */
  count(node: LockNode, vote: Vote): void {
    const index = this.#context.nodes.indexOf(node);
    if (this.#isSettled || this.votes[index] !== undefined) return;
    if (vote.kind === "failed") this.#countFailure(index, vote);
    else {
      const { isYes } = this.#rule;
      this.votes[index] = vote;
      this.verdicts[index] = (isYes ? isYes(vote, index) : vote.kind !== "denied") ? verdict.yes : verdict.no;
    }
    this.settle(false);
  }

  settle(isForced: boolean): void {
    const { quorum, isDecided = isCertain } = this.#rule;
    if (this.#isSettled) return;
    if (!isForced && this.verdicts.includes(verdict.missing) && !isDecided(this, quorum)) return;
    this.#isSettled = true;
    this.#stopListening?.();
    this.#context.openCalls.remove(this);
    this.#resolve?.(this);
  }

  onDeadline(): void {
    if (this.#isSettled) return;
    const failure = readFailure(new NodeTimeoutError(this.timeoutMs));
    for (const [index, vote] of this.votes.entries()) if (vote === undefined) this.#countFailure(index, failure);
    this.settle(true);
  }

  #countFailure(index: number, vote: Vote): void {
    this.votes[index] = vote;
    this.verdicts[index] = hasCode(vote, "MISCONFIGURED") ? verdict.misconfigured : verdict.failed;
    const { nodes, observer } = this.#context;
    const node = (nodes[index] as LockNode).name;
    const { method, caller } = this.#call;
    observer.nodeFailed?.({ node, method, resources: caller.reported, error: vote.error as Error });
  }
}

/** The vote of a node that was not asked. */
const unsent = readFailure(new NotSentError("silent: hundreds of earlier requests wait for its reply"));

/**
 * Sends a request to one node, unless it is silent, and reads its reply. Treats a synchronous throw as a rejection, a plain
 * value as a resolution, and a reply that throws when it is read as a failure.
 *
 * @param quorumCall counts the vote
 */
export function sendTo(limit: RequestLimit, node: LockNode, call: NodeCall, quorumCall?: QuorumCall): void {
  const { method, request, timeoutMs, caller } = call;
  const number = limit.begin(timeoutMs, node, method === "release");
  const onReply = (value: unknown, failure?: Vote): void => {
    let vote = failure;
    try {
      vote ??= readReply[method](value, request as never);
    } catch (error) {
      vote = readFailure(error);
    }
    caller.onReply?.(call, node, vote);
    quorumCall?.count(node, vote);
    if (number !== undefined) limit.end(number, node);
  };
  const onFailure = (reason: unknown): void => onReply(undefined, readFailure(reason));
  if (number === undefined) {
    void Promise.resolve().then(() => onReply(undefined, unsent));
    return;
  }
  try {
    Promise.resolve(node[method]?.(request as never)).then(onReply, onFailure);
  } catch (reason) {
    Promise.reject(reason).catch(onFailure);
  }
}
