import { overlapsOf, tokenFaultsOf } from "@holdfast/app-kit/visits";
import { brokenPromises } from "../history/checks.ts";
import type { Journal } from "../history/journal.ts";
import type { Visit } from "../history/visit.ts";

/**
 * Checks a round.
 *
 * @param last the last lock of the rounds before on each resource, which is replaced by that of this round
 */
export function judgeRound({ visits, errors }: Journal, last: Map<string, Visit>): string[] {
  const byResource = new Map([...last].map(([resource, visit]) => [resource, [visit]]));
  for (const visit of visits.toSorted((a, b) => a.grantedAtMs - b.grantedAtMs)) {
    for (const resource of visit.resource.split(",")) {
      const list = byResource.get(resource) ?? [];
      byResource.set(resource, list);
      list.push(visit);
      last.set(resource, visit);
    }
  }
  const checks = [...byResource.values()].map((list) => ({
    overlaps: overlapsOf(list),
    // Without faults, tokens grow in the order of the grants.
    tokenFaults: tokenFaultsOf(list.map((visit) => ({ ...visit, attemptAtMs: visit.grantedAtMs }))),
  }));
  const lost = visits.filter(({ end }) => end === "lost");
  return [
    ...brokenPromises(checks, true),
    ...lost.map(({ client, resource }) => `${client} lost its lock on ${resource}`).slice(0, 10),
    ...errors.map(({ client, message }) => `${client} got an error: ${message}`).slice(0, 10),
  ];
}
