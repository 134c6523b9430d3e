import type { Answer } from "./broadcast.ts";
import type { NodeOutcome } from "./errors.ts";
import type { AcquireReply, ExtendReply, LockNode, ReleaseReply } from "./lock-node.ts";

type AnyReply = AcquireReply | ExtendReply | ReleaseReply;

/** The answers in the words of an error. Both lists are in the order of the nodes. */
export function outcomesOf(nodes: readonly LockNode[], answers: readonly Answer<AnyReply>[]): NodeOutcome[] {
  return nodes.map(({ name }, index) => outcomeOf(name, answers[index]));
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
