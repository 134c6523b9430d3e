import { type Answer, isMisconfigured, noAnswers, type Tally } from "./answers.ts";
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
  heard?(node: LockNode, answer: Answer): void;
}

/** A question under way: a class, as it costs less than closures do, and every acquisition and release makes one. */
export class Broadcast {
  readonly #ensemble: Ensemble;
  readonly #question: Question;
  readonly #ballot: Ballot;
  /** What each node has answered, also when this has settled without it. */
  readonly #answers: (Answer | undefined)[];
  readonly #tally: { -readonly [Name in keyof Tally]: Tally[Name] };
  readonly #stopListening: () => void;
  #cancelTimer: () => void;
  #resolve: ((tally: Tally) => void) | undefined;
  #isSettled = false;
  readonly #followers: Follower[] = [];
  /** How many nodes are still followed: as long as there are any, the deadline counts. */
  #followed = 0;

  constructor(ensemble: Ensemble, question: Question, ballot: Ballot) {
    this.#ensemble = ensemble;
    this.#question = question;
    this.#ballot = ballot;
    this.#answers = new Array(question.nodes.length).fill(undefined);
    this.#tally = { answers: noAnswers, yes: 0, no: 0, missing: question.nodes.length, misconfigured: 0 };
    this.#stopListening = onAbort(ballot.signal, () => this.#settle());
    this.#cancelTimer = this.#startTimer();
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
   * Has somebody told what a node answers, also after this has settled: a failure if it does not in time.
   *
   * @returns false if there is nothing to wait for, as the node has answered or missed the deadline
   */
  follow(node: LockNode, follower: Follower): boolean {
    const index = this.#question.nodes.indexOf(node);
    if (this.#answers[index] !== undefined) return false;
    if (this.#isSettled && this.#followed === 0) this.#cancelTimer = this.#startTimer();
    this.#followed += 1;
    this.#followers[index] = (answer) => {
      this.#followed -= 1;
      if (this.#isSettled && this.#followed === 0) this.#cancelTimer();
      follower(answer);
    };
    return true;
  }

  #startTimer(): () => void {
    const { clock } = this.#ensemble;
    return clock.startTimer(this.#ballot.timeoutMs, () => clock.afterPendingIo(() => this.#judgeDeadline()));
  }

  #hear(index: number, answer: Answer): void {
    this.#question.heard?.(this.#question.nodes[index] as LockNode, answer);
    if (this.#answers[index] !== undefined) return;
    this.#take(index, answer);
    if (!this.#isSettled && (this.#tally.missing === 0 || this.#ballot.isDecided(this.#tally))) this.#settle();
  }

  #take(index: number, answer: Answer): void {
    const { nodes, method, resources } = this.#question;
    const node = nodes[index] as LockNode;
    this.#answers[index] = answer;
    this.#followers[index]?.(answer);
    if (this.#isSettled) return;
    const tally = this.#tally;
    tally.missing -= 1;
    if (answer.kind === "failed") {
      if (isMisconfigured(answer)) tally.misconfigured += 1;
      this.#ensemble.observer.nodeFailed?.({ node: node.name, method, resources, error: answer.error as Error });
    } else if (this.#ballot.isYes(answer, index)) tally.yes += 1;
    else tally.no += 1;
  }

  #judgeDeadline(): void {
    const failure = readFailure(new NodeTimeoutError(this.#ballot.timeoutMs));
    for (const [index, answer] of this.#answers.entries()) if (answer === undefined) this.#take(index, failure);
    this.#settle();
  }

  #settle(): void {
    this.#isSettled = true;
    this.#stopListening();
    this.#tally.answers = this.#answers.slice();
    this.#resolve?.(this.#tally);
    if (this.#followed === 0) this.#cancelTimer();
  }
}

/** Is told what a node has answered. */
type Follower = (answer: Answer) => void;

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
