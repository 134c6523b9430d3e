import { brokenPromises, lockChecks } from "../history/checks.ts";
import type { Journal } from "../history/journal.ts";
import type { Visit } from "../history/visit.ts";

/**
 * Checks a round.
 *
 * @param last the last lock of the rounds before on each resource, which is replaced by that of this round
 */
export function judgeRound({ visits, errors }: Journal, last: Map<string, Visit>): string[] {
  // Without faults, tokens grow in the order of the grants.
  const locks = [...new Set(last.values()), ...visits].map((visit) => ({ ...visit, attemptAtMs: visit.grantedAtMs }));
  for (const visit of visits.toSorted((a, b) => a.grantedAtMs - b.grantedAtMs)) {
    for (const resource of visit.resource.split(",")) last.set(resource, visit);
  }
  const lost = visits.filter(({ end }) => end === "lost");
  return [
    ...brokenPromises([lockChecks(locks)], true),
    ...lost.map(({ client, resource }) => `${client} lost its lock on ${resource}`).slice(0, 10),
    ...errors.map(({ client, message }) => `${client} got an error: ${message}`).slice(0, 10),
  ];
}
