import type { Clock } from "./clock.ts";
import { describe } from "./describe.ts";
import { NodeTimeoutError } from "./errors.ts";
import type { LockNode } from "./lock-node.ts";
import { onAbort } from "./on-abort.ts";

/** What a node said: a reply, an `Error` if it failed, or undefined as long as it has not answered. */
export type Answer<Reply> = Reply | Error | undefined;

/** One question to several nodes, with one deadline for all of them. */
export interface Question<Reply> {
  readonly nodes: readonly LockNode[];
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Lets the caller give up: the broadcast settles at once with the answers that it has. */
  readonly signal?: AbortSignal | undefined;
  /** Sends the question to one node. */
  ask(node: LockNode): Promise<unknown>;
  /** Reads what the node resolved with. */
  read(value: unknown): Reply | Error;
  /** Whether the answers so far make the outcome certain. The answers stand in the order of the nodes. */
  isDecided(answers: readonly Answer<Reply>[]): boolean;
  /** Hears of every node that failed, by its own account or by the deadline, before the broadcast settled. */
  failed(node: LockNode, error: Error): void;
  /** Hears every answer, also one that comes after the broadcast has settled. Passing the deadline is no answer. */
  heard?(node: LockNode, answer: Reply | Error): void;
}

/**
 * Asks all nodes at the same time and settles as soon as the outcome is certain, all have answered, or the deadline
 * has passed. It never rejects and never hangs (S6). The answers that it resolves with do not change afterwards.
 */
export function broadcast<Reply>(question: Question<Reply>): Promise<Answer<Reply>[]> {
  const { nodes, clock, timeoutMs, signal } = question;
  return new Promise((resolve) => {
    const answers = new Array<Answer<Reply>>(nodes.length).fill(undefined);
    let settled = false;

    const settle = (): void => {
      if (settled) return;
      settled = true;
      cancelTimer();
      stopListening();
      resolve(answers);
    };
    const hear = (node: LockNode, index: number, answer: Reply | Error): void => {
      question.heard?.(node, answer);
      if (settled) return;
      answers[index] = answer;
      if (answer instanceof Error) question.failed(node, answer);
      if (!answers.includes(undefined) || question.isDecided(answers)) settle();
    };
    const judgeDeadline = (): void => {
      if (settled) return;
      for (const [index, node] of nodes.entries()) {
        if (answers[index] !== undefined) continue;
        const error = new NodeTimeoutError(timeoutMs);
        answers[index] = error;
        question.failed(node, error);
      }
      settle();
    };

    const cancelTimer = clock.startTimer(timeoutMs, () => clock.afterPendingIo(judgeDeadline));
    const stopListening = onAbort(signal, settle);
    for (const [index, node] of nodes.entries()) {
      send(question, node).then(
        (value) => hear(node, index, read(question, value)),
        (reason) => hear(node, index, toError(reason)),
      );
    }
  });
}

/** A node that throws, or answers without a promise, is treated like one that rejects or resolves. */
async function send<Reply>(question: Question<Reply>, node: LockNode): Promise<unknown> {
  return question.ask(node);
}

/** A value that cannot even be looked at is a failure, too. */
function read<Reply>(question: Question<Reply>, value: unknown): Reply | Error {
  try {
    return question.read(value);
  } catch (error) {
    return toError(error);
  }
}

/** What is no sound `Error` of this realm becomes one, so that nobody after this has to doubt it. */
function toError(reason: unknown): Error {
  try {
    const message: unknown = (reason as Error | undefined)?.message;
    if (reason instanceof Error && typeof message === "string") return reason;
    return new Error(typeof message === "string" ? message : `rejected with ${describe(reason)}`);
  } catch {
    return new Error("rejected with an unreadable value");
  }
}
