import { type Inspection, type NodeOutcome, QuorumUnreachableError, type Redlock } from "@holdfast/core";
import { Announcements } from "../announcements.ts";
import { onAbort, Pause } from "../pause.ts";

/** A leader, as a quorum of nodes names it. */
export interface Leader {
  /** The value that signs the leader's claim, as in {@link Term.owner}. */
  readonly owner: string;
  /** The leader's label, or null. */
  readonly label: string | null;
  /** The number of the leader's term, as a quorum of nodes knows it. */
  readonly fence: number;
  /** How long a quorum of nodes will keep the claim unless it is extended, in milliseconds. */
  readonly remainingMs: number;
}

/** Whether anybody leads. */
export interface Leadership {
  /** `led` if there is a leader; `vacant` if nobody leads; `unknown` if too few nodes replied to tell. */
  readonly state: "led" | "vacant" | "unknown";
  /** The leader, or null. */
  readonly leader: Leader | null;
}

/** The first and the longest time between two looks while nobody is known to lead, in milliseconds. */
const pollMs = { first: 10, max: 1_000 } as const;

/**
 * The longest time between two looks in any case, in milliseconds: an announcement may be lost, and another program's
 * claim may never end.
 */
const pollIntervalMaxMs = 10_000;

const states = { held: "led", free: "vacant", unknown: "unknown" } as const;

function leadershipOf(inspection: Inspection): Leadership {
  const { state, owner, label, remainingMs } = inspection;
  const leader =
    owner === null ? null : { owner, label, fence: fenceOf(owner, inspection), remainingMs: remainingMs ?? 0 };
  return { state: states[state], leader };
}

/**
 * Returns the number of the owner's term: the highest counter that a quorum of the nodes has reached which name the
 * owner. A node outside of the quorum that confirmed the term may be ahead of it.
 */
function fenceOf(owner: string, { nodes, sets }: Inspection): number {
  const fences = new Map(nodes.flatMap(({ node, view }) => (view?.owner === owner ? [[node, view.fence]] : [])));
  const reached = sets.map(({ nodes: names, quorum }) => {
    return names.flatMap((name) => fences.get(name) ?? []).sort((a, b) => b - a)[quorum - 1] ?? 0;
  });
  return Math.max(...reached);
}

/**
 * Returns the leader, or null if nobody leads.
 *
 * @throws {QuorumUnreachableError} if too few nodes replied to tell
 */
export async function leaderOf(redlock: Redlock, name: string): Promise<Leader | null> {
  const inspection = await redlock.inspect(name);
  const { state, leader } = leadershipOf(inspection);
  if (state === "unknown") throw unknownLeader(inspection);
  return leader;
}

function unknownLeader({ resource, nodes, sets }: Inspection): QuorumUnreachableError {
  const outcomes = nodes.map(({ node, view, error }): NodeOutcome => {
    if (view === null) return { node, kind: "failed", ...(error && { error }) };
    return { node, kind: view.owner === null ? "not-held" : "held" };
  });
  const failures = nodes.flatMap(({ node, error }) => (error === null ? [] : `${node} failed: ${error.message}`));
  const quorums = sets.map(({ quorum }) => quorum).join(" and ");
  const count = `${nodes.length - failures.length} of ${nodes.length} nodes replied, a quorum is ${quorums}`;
  const message = `could not tell who leads ${resource}: ${[count, ...failures].join("; ")}`;
  return new QuorumUnreachableError(message, [resource], outcomes);
}

/**
 * Yields who leads now, and again after each change. Looks when a node announces a release, when the leader's claim
 * would end, and repeatedly while nobody leads: nodes do not announce grants.
 */
export async function* observe(
  redlock: Redlock,
  name: string,
  signal: AbortSignal,
): AsyncGenerator<Leadership, void, undefined> {
  let news = new AbortController();
  const onNews = (): void => news.abort();
  const listener = { onReleased: onNews, onWatching: onNews };
  const releases = new Announcements(redlock.nodes, redlock.sets, [name], listener);
  const stopListening = [signal, redlock.closed].map((ending) => onAbort(ending, onNews));
  let last: Leadership | undefined;
  let delayMs: number = pollMs.first;
  try {
    while (!signal.aborted) {
      news = new AbortController(); // an announcement during the look may be newer than its result
      releases.watch();
      const inspection = await redlock.inspect(name);
      const leadership = leadershipOf(inspection);
      if (signal.aborted) return;
      const lookedAtMs = redlock.clock.monotonicMs();
      const isNew = leadership.state !== last?.state || leadership.leader?.owner !== last.leader?.owner;
      last = leadership;
      if (isNew) {
        delayMs = pollMs.first;
        yield leadership;
      } else delayMs = Math.min(2 * delayMs, pollMs.max);
      if (signal.aborted) return;
      const { leader } = leadership;
      const isMet = inspection.sets.every(({ nodes, quorum }) => {
        const watched = nodes.filter((node) => releases.watched.has(node)).length;
        return watched > nodes.length - quorum; // each quorum has a watched node
      });
      const limitMs = isMet ? pollIntervalMaxMs : pollMs.max;
      const waitMs = leader === null ? delayMs : Math.min(leader.remainingMs, limitMs);
      const consumedMs = redlock.clock.monotonicMs() - lookedAtMs; // by the body of the loop
      await new Pause(redlock.clock).wait(Math.max(1, waitMs - consumedMs), news.signal);
    }
  } finally {
    for (const stop of stopListening) stop();
    releases.stop();
  }
}
