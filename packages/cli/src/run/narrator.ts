import type { Observer } from "@holdfast/core";
import ms from "ms";

/** The listeners of the messages. */
export interface Audience {
  /** Whether all messages were requested. */
  readonly isVerbose: boolean;
  /** Whether a person is at the terminal, who should see why nothing happens. */
  readonly isAtTerminal: boolean;
}

/**
 * Returns an observer that reports what happens to the lock of `run`. By default it only tells a waiting person the
 * reason.
 */
export function narrator(say: (text: string) => void, { isVerbose, isAtTerminal }: Audience): Observer {
  let waitingFor: string | undefined;
  const failing = new Map<string, string>();
  return {
    attemptSettled({ outcome, resources }) {
      if (!(isVerbose || isAtTerminal) || outcome === waitingFor) return;
      waitingFor = outcome;
      const names = resources.join(", ");
      if (outcome === "held") say(`waiting for ${names}: another owner holds it`);
      if (outcome === "unreachable") say(`waiting for ${names}: too few servers answer`);
    },
    ...(isVerbose && {
      acquired({ resources, fence, owner, attempts, waitedMs }) {
        const effort = `in ${ms(Math.round(waitedMs))}, attempt ${attempts}`;
        say(`locked ${resources.join(", ")} with fence ${fence} as ${owner} (${effort})`);
      },
      released({ resources, heldMs }) {
        say(`released ${resources.join(", ")} after ${ms(Math.round(heldMs))}`);
      },
      nodeFailed({ node, method, error }) {
        if (failing.get(node) === error.message) return;
        failing.set(node, error.message);
        say(`${node} failed to ${method}: ${error.message}`);
      },
    }),
  };
}
