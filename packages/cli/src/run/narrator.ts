import type { Observer } from "@holdfast/core";
import ms from "ms";

/** Who is told what. */
export interface Audience {
  /** Everything was asked for. */
  readonly isTold: boolean;
  /** Somebody sits there and should know why nothing happens. */
  readonly isAtTerminal: boolean;
}

/** Says what happens to the lock of `run`. By default nothing, other than to a person who waits. */
export function narrator(say: (text: string) => void, { isTold, isAtTerminal }: Audience): Observer {
  let waitingFor: string | undefined;
  const failing = new Map<string, string>();
  return {
    attemptSettled({ outcome, resources }) {
      if (!(isTold || isAtTerminal) || outcome === waitingFor) return;
      waitingFor = outcome;
      const names = resources.join(", ");
      if (outcome === "held") say(`waiting for ${names}: another owner holds it`);
      if (outcome === "unreachable") say(`waiting for ${names}: too few servers answer`);
    },
    ...(isTold && {
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
