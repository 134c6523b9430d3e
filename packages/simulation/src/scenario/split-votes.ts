import { type FullScenario, quorumOf, resourcesOf, setsAt } from "./scenario.ts";

/** The limit holds but for one case in so many in which all clients ask all the time. */
const rareness = 1e6;

/**
 * How long the clients of an epoch may split each other's votes until one of them wins, in milliseconds; 0 if two of
 * them cannot.
 *
 * Clients that retry at random moments share the nodes as stations share a radio channel (Abramson, "The ALOHA System",
 * 1970). Each of k clients repeats a cycle: an attempt and its undo, H, and then half of the longest delay on average.
 * An attempt takes D with its undo, and wins if none that holds a vote has started during H before it, and none starts
 * during D after it. That is likely by e^(-(k - 1) · (H + D) / cycle). So the limit is short where delays are long
 * compared with attempts, and long where they are not.
 *
 * H is D if all nodes answer or refuse. If one stays silent, a split vote is undecided until the node timeout, and keeps
 * its votes for that long. A node that stays down also lets two clients split the votes of an even number of nodes.
 */
export function splitMs(scenario: FullScenario, epoch: number): number {
  const { retryDelayMaxMs, latencyMs, nodeTimeoutMs } = scenario.settings;
  const rivals = rivalsOf(scenario);
  const sets = setsAt(epoch, scenario);
  const lost = scenario.faults.flatMap((fault) =>
    fault.kind === "node crash" && fault.forMs === Infinity && sets.some((set) => set.includes(fault.node))
      ? fault
      : [],
  );
  const canSplit = sets.some((set) => {
    const votes = set.filter((name) => lost.every(({ node }) => node !== name)).length;
    // Of two clients and an odd number of votes, one has a majority.
    return rivals > 1 || (rivals > 0 && 2 * quorumOf(set.length, scenario.settings) > votes + 1);
  });
  if (!canSplit) return 0;
  const attemptMs = 3 * latencyMs[1]; // there, back, and there again to undo it
  const heldMs = lost.some(({ isSilent }) => isSilent) ? nodeTimeoutMs + latencyMs[1] : attemptMs;
  const cycleMs = heldMs + retryDelayMaxMs / 2;
  const likelihood = Math.exp((-rivals * (heldMs + attemptMs)) / cycleMs);
  return (Math.log(rareness) * cycleMs) / ((1 + rivals) * likelihood);
}

/** How many clients compete with another one for the resource that most clients want. */
function rivalsOf({ clients }: FullScenario): number {
  const wanted = clients.map((client) => resourcesOf({ clients: [client] }));
  const counts = wanted.flat().map((resource) => wanted.filter((names) => names.includes(resource)).length);
  return Math.max(1, ...counts) - 1;
}
