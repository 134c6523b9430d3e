import type { Observer } from "@holdfast/core";
import ms from "ms";

/** The listeners of the messages. */
export interface Audience {
  /** Whether all messages were requested. */
  readonly isVerbose: boolean;
  /** Whether a person is at the terminal, who should see why nothing happens. */
  readonly isAtTerminal: boolean;
  /** The name of the semaphore, if permits are acquired. */
  readonly semaphore?: string | undefined;
}

/**
 * Returns an observer that reports what happens to the lock of `run`. By default it only tells a waiting person the
 * reason.
 */
export function narrator(say: (text: string) => void, audience: Audience): Observer {
  const { isVerbose, isAtTerminal, semaphore } = audience;
  let waitingFor: string | undefined;
  const failing = new Map<string, string>();
  const isTurn = ([name]: readonly string[]): boolean => semaphore !== undefined && name === `sem:${semaphore}:turn`;
  return {
    attemptSettled({ outcome, resources }) {
      if (!(isVerbose || isAtTerminal)) return;
      if (semaphore !== undefined && outcome !== "unreachable") {
        // Of a semaphore, any slot may be held. A call that takes its turn has found too few free ones.
        if (waitingFor === undefined && isTurn(resources)) {
          waitingFor = outcome;
          say(`waiting for ${semaphore}: too few permits are free`);
        }
        return;
      }
      if (outcome === waitingFor) return;
      waitingFor = outcome;
      const names = semaphore ?? resources.join(", ");
      if (outcome === "held") say(`waiting for ${names}: another owner holds it`);
      if (outcome === "unreachable") say(`waiting for ${names}: too few servers answer`);
    },
    ...(isVerbose && {
      acquired({ resources, fence, owner, attempts, waitedMs }) {
        if (isTurn(resources)) return;
        const effort = `in ${ms(Math.round(waitedMs))}, attempt ${attempts}`;
        say(`locked ${resources.join(", ")} with fence ${fence} as ${owner} (${effort})`);
      },
      released({ resources, heldMs }) {
        if (isTurn(resources)) return;
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
