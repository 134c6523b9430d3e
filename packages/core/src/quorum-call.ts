import type { Clock } from "./clock.ts";
import { NodeTimeoutError, NotSentError } from "./errors.ts";
import type { LockNode } from "./lock-node.ts";
import { type Quorum, verdict } from "./node-sets.ts";
import type { NodeFailedEvent, Observer } from "./observer.ts";
import { onAbort } from "./pause.ts";
import { hasCode, readFailure, type Vote } from "./replies.ts";
import type { RequestLimit } from "./request-limit.ts";

/** The votes so far. */
export interface Tally {
  /** In the order of the nodes; undefined for a node that has not replied. */
  readonly votes: readonly (Vote | undefined)[];
  /** How they count: one of {@link verdict} for each node. */
  readonly verdicts: readonly number[];
}

/** How to count votes, and how long to wait for them. */
export interface VoteRule {
  /** How long each node has to reply, in milliseconds from the moment when the request leaves. */
  readonly timeoutMs: number;
  /** Lets the caller give up: when it aborts, the call settles with the votes so far. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the call settles with the votes so far when the `Redlock` is closed. */
  readonly endsOnClose?: boolean;
  /** Whether this is the desired reply. Never called for a failure. */
  isYes(vote: Vote, index: number): boolean;
  /** Whether the outcome is certain. */
  isDecided(tally: Tally): boolean;
}

/** The request to send to each node. */
export interface NodeCall {
  readonly method: NodeFailedEvent["method"];
  /** The argument of the method. */
  readonly request: unknown;
  /** The resources that events name. */
  readonly resources: readonly string[];
  /** Receives each reply or failure, even after the call has settled, but no missed deadline. */
  readonly listener?: ReplyListener | undefined;
  /** Reads what the node resolved with. */
  read(value: unknown): Vote;
  /** Returns the vote of a node that need not be asked. */
  readonly known?: ((node: LockNode, index: number) => Vote | undefined) | undefined;
  /** Called just before the request is sent to a node. */
  readonly onSent?: ((node: LockNode) => void) | undefined;
}

/** See {@link NodeCall.listener}. */
export interface ReplyListener {
  onReply(method: NodeCall["method"], node: LockNode, vote: Vote): void;
}

/** The votes of a call that asked no node. */
export const noVotes: Tally["votes"] = [];

/** Counts every reply as the desired one. */
export function anyVote(): boolean {
  return true;
}

/** Whether a quorum voted yes, or no quorum can any more. */
export function isCertain({ verdicts }: Tally, quorum: Quorum): boolean {
  const { yes, missing } = verdict;
  return quorum.isReachedBy(verdicts, yes) || !quorum.isReachedBy(verdicts, yes + missing);
}

/** The part of the context that a quorum call uses. */
export interface CallContext {
  readonly nodes: readonly LockNode[];
  readonly clock: Clock;
  readonly observer: Observer;
  readonly openCalls: OpenCalls;
  readonly limit: RequestLimit;
}

/** Something with a deadline, and its position among the {@link OpenCalls}. */
export interface Timed {
  addedAtTurn: number;
  earlier: Timed | undefined;
  later: Timed | undefined;
  /** Starts the deadline. */
  startTimer(): void;
  /**
   * Settles if the outcome is certain by now: called when the rule may decide differently, or when the `Redlock` closes.
   */
  reconsider?(isClosing?: boolean): void;
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
  #first: Timed | undefined;
  #last: Timed | undefined;
  /** The first call whose deadline has not started. */
  #untimed: Timed | undefined;
  #turns = 0;
  #isTurning = false;

  /** @param clock schedules the turns and timers */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adds a call. Starts its timer after two turns unless it is removed before. */
  add(call: Timed): void {
    call.addedAtTurn = this.#turns;
    call.earlier = this.#last;
    if (this.#last) this.#last.later = call;
    else this.#first = call;
    this.#last = call;
    this.#untimed ??= call;
    this.#turn();
  }

  /** Removes a call. */
  remove(call: Timed): void {
    const { earlier, later } = call;
    if (this.#untimed === call) this.#untimed = later;
    if (earlier) earlier.later = later;
    else this.#first = later;
    if (later) later.earlier = earlier;
    else this.#last = earlier;
    call.earlier = undefined;
    call.later = undefined;
  }

  #turn(): void {
    if (this.#isTurning) return;
    this.#isTurning = true;
    this.#clock.afterPendingIo(this.#onTurn);
  }

  readonly #onTurn = (): void => {
    this.#isTurning = false;
    this.#turns += 1;
    for (let call = this.#untimed; call && call.addedAtTurn + 2 <= this.#turns; call = this.#untimed) {
      this.#untimed = call.later;
      call.startTimer();
    }
    if (this.#untimed) this.#turn();
  };

  /** The calls at this moment. */
  list(): readonly Timed[] {
    const calls: Timed[] = [];
    for (let call = this.#first; call; call = call.later) calls.push(call);
    return calls;
  }
}

/** A call to all nodes at once, and the tally of their votes. */
export class QuorumCall implements Timed {
  readonly #context: CallContext;
  readonly #call: NodeCall;
  readonly #rule: VoteRule;
  readonly #votes: (Vote | undefined)[];
  readonly #verdicts: number[];
  readonly #tally: Tally;
  #stopListening: (() => void) | undefined;
  #cancelTimer: (() => void) | undefined;
  #resolve: ((tally: Tally) => void) | undefined;
  #isSettled = false;
  addedAtTurn = 0;
  earlier: Timed | undefined;
  later: Timed | undefined;

  /**
   * @param context the nodes, the clock, the observer, and the other open calls
   * @param call the request to send to each node
   * @param rule how to count the votes
   */
  constructor(context: CallContext, call: NodeCall, rule: VoteRule) {
    this.#context = context;
    this.#call = call;
    this.#rule = rule;
    this.#votes = new Array(context.nodes.length).fill(undefined);
    this.#verdicts = new Array(context.nodes.length).fill(verdict.missing);
    this.#tally = { votes: this.#votes, verdicts: this.#verdicts };
  }

  /**
   * Sends the request to all nodes at the same time. Settles as soon as the outcome is certain, all nodes have replied,
   * or the deadline has passed. Never rejects and never hangs (S6). The tally does not change afterwards.
   */
  run(): Promise<Tally> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      const { nodes, openCalls, limit } = this.#context;
      const { method, listener, known } = this.#call;
      const { signal, timeoutMs } = this.#rule;
      openCalls.add(this);
      if (signal) this.#stopListening = onAbort(signal, () => this.#settle());
      for (let index = 0; index < nodes.length; index++) {
        const node = nodes[index] as LockNode;
        const onVote = (vote: Vote): void => {
          listener?.onReply(method, node, vote);
          this.#add(index, vote);
        };
        const vote = known?.(node, index);
        if (vote === undefined) sendTo(limit, timeoutMs, node, this.#call, onVote);
        else void Promise.resolve().then(() => this.#add(index, vote));
      }
    });
  }

  reconsider(isClosing?: boolean): void {
    if ((isClosing && this.#rule.endsOnClose) || this.#rule.isDecided(this.#tally)) this.#settle();
  }

  /** Starts the deadline, which is checked only after pending input was handled (S6). */
  startTimer(): void {
    const { clock } = this.#context;
    const onTimer = () => clock.afterPendingIo(() => this.#onDeadline());
    this.#cancelTimer = clock.startTimer(this.#rule.timeoutMs, onTimer);
  }

  #add(index: number, vote: Vote): void {
    if (this.#isSettled || this.#votes[index] !== undefined) return;
    if (vote.kind === "failed") this.#addFailure(index, vote);
    else {
      this.#votes[index] = vote;
      this.#verdicts[index] = this.#rule.isYes(vote, index) ? verdict.yes : verdict.no;
    }
    if (!this.#verdicts.includes(verdict.missing) || this.#rule.isDecided(this.#tally)) this.#settle();
  }

  #addFailure(index: number, vote: Vote): void {
    this.#votes[index] = vote;
    this.#verdicts[index] = hasCode(vote, "MISCONFIGURED") ? verdict.misconfigured : verdict.failed;
    const { nodes, observer } = this.#context;
    const { method, resources } = this.#call;
    const node = (nodes[index] as LockNode).name;
    observer.nodeFailed?.({ node, method, resources, error: vote.error as Error });
  }

  #onDeadline(): void {
    if (this.#isSettled) return;
    const failure = readFailure(new NodeTimeoutError(this.#rule.timeoutMs));
    for (let index = 0; index < this.#votes.length; index++) {
      if (this.#votes[index] === undefined) this.#addFailure(index, failure);
    }
    this.#settle();
  }

  #settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#stopListening?.();
    this.#context.openCalls.remove(this);
    this.#cancelTimer?.();
    this.#resolve?.(this.#tally);
  }
}

/** The vote of a node that was not asked. */
const unsent = readFailure(new NotSentError("silent: hundreds of earlier requests wait for its reply"));

/**
 * Sends a request to one node, unless it is silent, and reads its reply. Treats a synchronous throw as a rejection, a plain
 * value as a resolution, and a reply that throws when it is read as a failure.
 */
export function sendTo(
  limit: RequestLimit,
  timeoutMs: number,
  node: LockNode,
  { method, request, read, onSent }: Pick<NodeCall, "method" | "request" | "read" | "onSent">,
  onVote: (vote: Vote) => void,
): void {
  const number = limit.begin(timeoutMs, node, method === "release");
  if (number === undefined) {
    void Promise.resolve(unsent).then(onVote);
    return;
  }
  onSent?.(node);
  let reply: Promise<unknown>;
  try {
    reply = Promise.resolve(node[method]?.(request as never));
  } catch (reason) {
    reply = Promise.reject(reason);
  }
  reply.then(
    (value) => {
      let vote: Vote;
      try {
        vote = read(value);
      } catch (error) {
        vote = readFailure(error);
      }
      onVote(vote);
      limit.end(number, node);
    },
    (reason) => {
      onVote(readFailure(reason));
      limit.end(number, node);
    },
  );
}
