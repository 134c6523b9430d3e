import type { Tally } from "./answers.ts";
import { failureMessage, type LockAction, type NodeOutcome } from "./errors.ts";
import type { LockNode } from "./lock-node.ts";
import type { Place } from "./waiting/place.ts";

/** What an error is made of that tells what each node answered; no answers if none was asked. */
export function failureOf(
  action: LockAction,
  { resources, ensemble: { nodes }, settings: { quorum } }: Place,
  answers: Tally["answers"],
  remark?: string,
): [message: string, resources: readonly string[], outcomes: readonly NodeOutcome[]] {
  const outcomeOf = ({ name: node }: LockNode, index: number): NodeOutcome => ({
    node,
    ...(answers[index] ?? { kind: "unanswered" }),
  });
  const outcomes = answers.length > 0 ? nodes.map(outcomeOf) : [];
  return [failureMessage(action, resources, outcomes, quorum, remark), resources, outcomes];
}
