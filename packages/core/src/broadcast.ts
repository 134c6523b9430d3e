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
  heard?(node: LockNode, answer: Answer): void;
}

/**
 * Asks all nodes at the same time and settles as soon as the outcome is certain, all have answered, or the deadline
 * has passed. It never rejects and never hangs (S6). What it resolves with does not change afterwards.
 */
export function broadcast({ clock, observer }: Ensemble, question: Question, ballot: Ballot): Promise<Tally> {
  const { nodes, method, resources } = question;
  const { timeoutMs, signal } = ballot;
  return new Promise((resolve) => {
    const answers: (Answer | undefined)[] = [];
    const tally: Tally = { answers, yes: 0, no: 0, missing: nodes.length, misconfigured: 0 };
    let settled = false;

    const settle = (): void => {
      settled = true;
      cancelTimer();
      stopListening?.();
      resolve(tally);
    };
    const take = (node: LockNode, index: number, answer: Answer): void => {
      answers[index] = answer;
      tally.missing -= 1;
      if (answer.kind === "failed") {
        if (isMisconfigured(answer)) tally.misconfigured += 1;
        observer.nodeFailed?.({ node: node.name, method, resources, error: answer.error as Error });
      } else if (ballot.isYes(answer, index)) tally.yes += 1;
      else tally.no += 1;
    };
    const hear = (node: LockNode, index: number, answer: Answer): void => {
      question.heard?.(node, answer);
      if (settled || answers[index] !== undefined) return;
      take(node, index, answer);
      if (tally.missing === 0 || ballot.isDecided(tally)) settle();
    };
    const judgeDeadline = (): void => {
      if (settled) return;
      const failure = readFailure(new NodeTimeoutError(timeoutMs));
      for (const [index, node] of nodes.entries()) if (answers[index] === undefined) take(node, index, failure);
      settle();
    };

    const cancelTimer = clock.startTimer(timeoutMs, () => clock.afterPendingIo(judgeDeadline));
    const stopListening = signal && onAbort(signal, settle);
    for (let index = 0; index < nodes.length; index++) {
      const node = nodes[index] as LockNode;
      send(
        node,
        question.ask,
        (value) => hear(node, index, read(question, value)),
        (reason) => hear(node, index, readFailure(reason)),
      );
    }
  });
}

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
