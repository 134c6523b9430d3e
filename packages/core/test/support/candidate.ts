import type { Redlock } from "@holdfast/core";
import { type Election, type ElectionOptions, election, type Term } from "@holdfast/core/election";
import { expect } from "vitest";
import type { World } from "../world.ts";

/** How long the claim of a leader lasts, unless the options say otherwise. */
export const ttlMs = 2_000;

/** A process that leads `jobs` until the signal of each term aborts, and records when each term began and ended. */
export interface Candidate {
  readonly election: Election;
  readonly terms: { readonly fence: number; readonly beganMs: number; endedMs: number }[];
  /** Resolves when the loop has ended. */
  readonly ended: Promise<void>;
  current: Term | undefined;
  /** Ends the body of the loop, and with it the term. */
  endBody(): void;
  stop(): void;
}

export function candidate({ clock }: World, redlock: Redlock, options: ElectionOptions = {}): Candidate {
  const stop = new AbortController();
  const jobs = election(redlock, "jobs", { ttlMs, ...options });
  const lead = async (): Promise<void> => {
    for await (const term of jobs.campaign({ signal: stop.signal })) {
      const record = { fence: term.fence, beganMs: clock.monotonicMs(), endedMs: Infinity };
      self.terms.push(record);
      self.current = term;
      expect(term.signal.aborted).toBe(false);
      term.signal.addEventListener("abort", () => {
        record.endedMs = clock.monotonicMs();
        self.endBody();
      });
      await new Promise<void>((resolve) => {
        self.endBody = resolve;
      });
    }
  };
  const self: Candidate = {
    election: jobs,
    terms: [],
    current: undefined,
    ended: Promise.resolve(),
    endBody() {},
    stop: () => stop.abort(),
  };
  return Object.assign(self, { ended: lead() });
}

/** Fails if two of these terms overlap or have one number, or if a later one has a smaller number. */
export function expectInOrder(...candidates: readonly Candidate[]): void {
  const terms = candidates.flatMap((one) => one.terms).sort((a, b) => a.beganMs - b.beganMs);
  for (const [index, later] of terms.slice(1).entries()) {
    const earlier = terms[index];
    expect(later.fence).toBeGreaterThan(earlier?.fence ?? 0);
    expect(later.beganMs).toBeGreaterThanOrEqual(earlier?.endedMs ?? Infinity);
  }
}
