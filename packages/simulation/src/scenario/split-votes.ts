import { type FullScenario, quorumOf, resourcesOf, setsAt } from "./scenario.ts";

/** The limit holds but for one case in so many in which all clients ask all the time. */
const rareness = 1e6;

/**
 * How long the clients of an epoch may split each other's votes until one of them wins, in milliseconds; 0 if two of
 * them cannot.
 *
 * Clients that retry at random moments share the nodes as stations share a radio channel (Abramson, "The ALOHA System",
 * 1970). Each of k clients repeats a cycle: an attempt and its undo, D, and then half of the longest delay on average.
 * An attempt wins if no other one starts during D before or after it, which is likely by e^(-(k - 1) · 2D / cycle). So
 * the limit is short where delays are long compared with attempts, and long where they are not.
 */
export function splitMs(scenario: FullScenario, epoch: number): number {
  const { retryDelayMaxMs, latencyMs } = scenario.settings;
  const rivals = rivalsOf(scenario);
  const canSplit = setsAt(epoch, scenario).some(({ length }) => {
    // Of two clients and an odd number of nodes, one has a majority.
    return rivals > 1 || (rivals > 0 && 2 * quorumOf(length, scenario.settings) > length + 1);
  });
  if (!canSplit) return 0;
  const attemptMs = 3 * latencyMs[1]; // there, back, and there again to undo it
  const cycleMs = attemptMs + retryDelayMaxMs / 2;
  const likelihood = Math.exp((-rivals * 2 * attemptMs) / cycleMs);
  return (Math.log(rareness) * cycleMs) / ((1 + rivals) * likelihood);
}

/** How many clients compete with another one for the resource that most clients want. */
function rivalsOf({ clients }: FullScenario): number {
  const wanted = clients.map((client) => resourcesOf({ clients: [client] }));
  const counts = wanted.flat().map((resource) => wanted.filter((names) => names.includes(resource)).length);
  return Math.max(1, ...counts) - 1;
}
