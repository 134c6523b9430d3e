import type { Answer, Failed } from "./answers.ts";
import type { Ensemble } from "./claim.ts";
import { NodeTimeoutError } from "./errors.ts";
import type { LockNode } from "./lock-node.ts";
import type { NodeFailedEvent } from "./observer.ts";
import { onAbort } from "./on-abort.ts";
import { readFailure } from "./reply.ts";

/** How long the answers to one question are waited for, what they are, and how they are counted. */
export interface Ballot<Reply> {
  readonly timeoutMs: number;
  /** Lets the caller give up: the broadcast settles at once with the answers that it has. */
  readonly signal?: AbortSignal | undefined;
  /** Filled in until the broadcast has settled; in the order of the nodes, and empty as long as none has answered. */
  readonly answers: Answer<Reply>[];
  /**
   * Counts an answer: each node's first, in the order in which they come. Passing the deadline counts as a failure.
   *
   * @returns whether the outcome is certain now
   */
  count(answer: Reply | Failed, index: number): boolean;
}

/** One question to several nodes. */
export interface Question<Reply> {
  readonly nodes: readonly LockNode[];
  readonly method: NodeFailedEvent["method"];
  readonly resources: readonly string[];
  /** Sends the question to one node. */
  ask(node: LockNode): unknown;
  /** Reads what the node resolved with. */
  read(value: unknown): Reply | Failed;
  /** Hears every answer, also one that comes after the broadcast has settled. Passing the deadline is no answer. */
  heard?(node: LockNode, answer: Reply | Failed): void;
}

/**
 * Asks all nodes at the same time and settles as soon as the outcome is certain, all have answered, or the deadline
 * has passed. It never rejects and never hangs (S6). It resolves with the ballot, which does not change afterwards.
 */
export function broadcast<Reply extends { readonly kind: string }, B extends Ballot<Reply>>(
  { clock, observer }: Ensemble,
  question: Question<Reply>,
  ballot: B,
): Promise<B> {
  const { nodes, method, resources } = question;
  const { timeoutMs, signal, answers } = ballot;
  return new Promise((resolve) => {
    let missing = nodes.length;
    let settled = false;

    const settle = (): void => {
      settled = true;
      cancelTimer();
      stopListening?.();
      resolve(ballot);
    };
    /** Tells whether it was the last answer that was needed. */
    const take = (node: LockNode, index: number, answer: Reply | Failed): boolean => {
      answers[index] = answer;
      missing -= 1;
      if (answer.kind === "failed") {
        observer.nodeFailed?.({ node: node.name, method, resources, error: (answer as Failed).error });
      }
      return ballot.count(answer, index) || missing === 0;
    };
    const hear = (node: LockNode, index: number, answer: Reply | Failed): void => {
      question.heard?.(node, answer);
      if (!settled && answers[index] === undefined && take(node, index, answer)) settle();
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
function read<Reply>(question: Question<Reply>, value: unknown): Reply | Failed {
  try {
    return question.read(value);
  } catch (error) {
    return readFailure(error);
  }
}
