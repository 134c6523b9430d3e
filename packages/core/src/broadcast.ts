import { type Answer, isMisconfigured, type Tally } from "./answers.ts";
import type { Ensemble } from "./claim.ts";
import { NodeTimeoutError } from "./errors.ts";
import type { LockNode } from "./lock-node.ts";
import type { NodeFailedEvent } from "./observer.ts";
import { onAbort } from "./on-abort.ts";
import { readFailure } from "./reply.ts";

/** How the answers to a question are counted, and for how long they are waited for. */
export interface Ballot {
  readonly timeoutMs: number;
  /** Lets the caller give up: the broadcast settles at once with the answers that it has. */
  readonly signal?: AbortSignal | undefined;
  /** Whether a node that did not fail said what was hoped for. */
  isYes(answer: Answer, index: number): boolean;
  /** Whether the outcome is certain. Passing the deadline counts as a failure. */
  isDecided(tally: Tally): boolean;
}

/** One question to several nodes. */
export interface Question {
  readonly nodes: readonly LockNode[];
  readonly method: NodeFailedEvent["method"];
  readonly resources: readonly string[];
  /** Sends the question to one node. */
  ask(node: LockNode): unknown;
  /** Reads what the node resolved with. */
  read(value: unknown): Answer;
  /** Hears every answer, also one that comes after the broadcast has settled. Passing the deadline is no answer. */
  readonly heard?: ((node: LockNode, answer: Answer) => void) | undefined;
}

/** A question under way: a class, as it costs less than closures do, and every acquisition and release makes one. */
export class Broadcast {
  readonly #ensemble: Ensemble;
  readonly #question: Question;
  readonly #ballot: Ballot;
  readonly #tally: Tally & { readonly answers: (Answer | undefined)[] };
  readonly #cancelTimer: () => void;
  readonly #stopListening: (() => void) | undefined;
  #resolve: ((tally: Tally) => void) | undefined;
  #isSettled = false;
  /** Who waits for the answer of a node, even when the outcome is certain without it. */
  #followers: Map<LockNode, Follower> | undefined;

  constructor(ensemble: Ensemble, question: Question, ballot: Ballot) {
    const { clock } = ensemble;
    this.#ensemble = ensemble;
    this.#question = question;
    this.#ballot = ballot;
    const answers = question.nodes.map(() => undefined);
    this.#tally = { answers, yes: 0, no: 0, missing: answers.length, misconfigured: 0 };
    this.#cancelTimer = clock.startTimer(ballot.timeoutMs, () => clock.afterPendingIo(() => this.#judgeDeadline()));
    this.#stopListening = ballot.signal && onAbort(ballot.signal, () => this.#settle());
  }

  /**
   * Asks all nodes at the same time and settles as soon as the outcome is certain, all have answered, or the deadline
   * has passed. It never rejects and never hangs (S6). What it resolves with does not change afterwards.
   */
  ask(): Promise<Tally> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      const { nodes, ask } = this.#question;
      for (let index = 0; index < nodes.length; index++) {
        send(
          nodes[index] as LockNode,
          ask,
          (value) => this.#hear(index, read(this.#question, value)),
          (reason) => this.#hear(index, readFailure(reason)),
        );
      }
    });
  }

  /**
   * Has somebody told what a node answers, or undefined if it does not by the deadline.
   *
   * @returns whether there is anything to wait for: not if the node has answered, nor if the question has settled
   */
  follow(node: LockNode, follower: Follower): boolean {
    const index = this.#question.nodes.indexOf(node);
    if (this.#isSettled || this.#tally.answers[index] !== undefined) return false;
    this.#followers ??= new Map();
    this.#followers.set(node, follower);
    return true;
  }

  #hear(index: number, answer: Answer): void {
    const node = this.#question.nodes[index] as LockNode;
    this.#question.heard?.(node, answer);
    this.#followers?.get(node)?.(answer);
    this.#followers?.delete(node);
    const tally = this.#tally;
    if (this.#isSettled) this.#rest();
    else if (tally.answers[index] === undefined) {
      this.#take(index, answer);
      if (tally.missing === 0 || this.#ballot.isDecided(tally)) this.#settle();
    }
  }

  #take(index: number, answer: Answer): void {
    const tally = this.#tally;
    tally.answers[index] = answer;
    tally.missing -= 1;
    if (answer.kind === "failed") {
      if (isMisconfigured(answer)) tally.misconfigured += 1;
      const { nodes, method, resources } = this.#question;
      const node = (nodes[index] as LockNode).name;
      this.#ensemble.observer.nodeFailed?.({ node, method, resources, error: answer.error as Error });
    } else if (this.#ballot.isYes(answer, index)) tally.yes += 1;
    else tally.no += 1;
  }

  #judgeDeadline(): void {
    for (const follower of this.#followers?.values() ?? []) follower(undefined);
    this.#followers = undefined;
    if (this.#isSettled) return;
    const failure = readFailure(new NodeTimeoutError(this.#ballot.timeoutMs));
    for (const index of this.#question.nodes.keys())
      if (this.#tally.answers[index] === undefined) this.#take(index, failure);
    this.#settle();
  }

  #settle(): void {
    this.#isSettled = true;
    this.#stopListening?.();
    this.#resolve?.(this.#tally);
    this.#rest();
  }

  /** Ends the deadline unless somebody still relies on it. */
  #rest(): void {
    if (!this.#followers?.size) this.#cancelTimer();
  }
}

type Follower = (answer: Answer | undefined) => void;

/** A node that throws, or answers without a promise, is treated like one that rejects or resolves. */
export function send(
  node: LockNode,
  ask: (node: LockNode) => unknown,
  onReply: (value: unknown) => void,
  onFailure: (reason: unknown) => void,
): void {
  try {
    Promise.resolve(ask(node)).then(onReply, onFailure);
  } catch (reason) {
    onFailure(reason);
  }
}

/** A value that cannot even be looked at is a failure, too. */
function read(question: Question, value: unknown): Answer {
  try {
    return question.read(value);
  } catch (error) {
    return readFailure(error);
  }
}
