import type { Answer } from "./broadcast.ts";
import { failureMessage, type LockAction, type NodeOutcome } from "./errors.ts";
import type { AcquireReply, ExtendReply, LockNode, ReleaseReply } from "./lock-node.ts";

/** What a node may reply to the questions that are put to all of them. */
export type AnyReply = AcquireReply | ExtendReply | ReleaseReply;

/** What an error is made of that tells what each node answered; no answers if none was asked. */
export function failureOf(
  action: LockAction,
  resources: readonly string[],
  nodes: readonly LockNode[],
  answers: readonly Answer<AnyReply>[],
  quorum: number,
  remark?: string,
): [message: string, resources: readonly string[], outcomes: readonly NodeOutcome[]] {
  const outcomes = answers.length === 0 ? [] : nodes.map(({ name }, index) => outcomeOf(name, answers[index]));
  return [failureMessage(action, resources, outcomes, quorum, remark), resources, outcomes];
}

function outcomeOf(node: string, answer: Answer<AnyReply>): NodeOutcome {
  if (answer === undefined) return { node, kind: "unanswered" };
  if (answer instanceof Error) return { node, kind: "failed", error: answer };
  if ("granted" in answer) {
    const { granted, ...details } = answer;
    return { node, kind: granted ? "granted" : "denied", ...details };
  }
  if ("held" in answer) {
    if (answer.held) return { node, kind: "held", fence: answer.fence };
    return { node, kind: answer.rejoined ? "rejoined" : "not-held" };
  }
  return { node, kind: answer.released ? "released" : "not-held" };
}
