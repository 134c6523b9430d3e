/** The findings about floors and generations: servers that lost their counters, and servers that change. */
import { clientsOf, epochOf, servedBy } from "@holdfast/core/node";
import { quorumOf, type ServerSet, setsOf } from "../servers/sets.ts";
import type { Facts, ServerFacts, ServerView, Stored } from "./facts.ts";
import { error, type Findings, warning } from "./finding-kind.ts";

/** A server with fewer than this share of the counters of another one has lost counters, or never had them. */
const counterShareMin = 0.1;
/** A server with at least this share of the counters of others has all of them: a few locks meet a majority only. */
const fullShareMin = 0.9;
/** If no server has more counters than this, a difference says little. */
const telltaleCounters = 20;

const healing = "Run holdfast heal for this server: until then, tokens depend on the clocks of clients.";

/** The findings, whose rules need to know nothing about the kind of server. */
export const changeFindings: Findings<ServerView> = {
  "generation-refused": {
    ...error("efficiency"),
    when: "it does not serve clients of the generation from `--generation`",
    remedy:
      "Give the clients the generation and the servers of the current stage, which holdfast migrate status shows, or " +
      "pass theirs to the doctor with --generation.",
    rule: (_, { generation, joint }, { stored }) => {
      const epoch = epochOf(generation, joint !== null);
      if (stored === null || stored.epoch === 0 || Math.abs(stored.epoch - epoch) <= 1) return null;
      return `serves ${servedBy(stored.epoch)}, and yours are of ${clientsOf(epoch)}`;
    },
  },
  "generation-behind": {
    ...warning("exclusion"),
    when: "it serves clients of earlier generations, or earlier stages of a change, than another server of its set",
    remedy: "Repeat the last step of holdfast migrate, or run holdfast heal for this server: both bring it up to date.",
    rule: (_, facts, { name, stored }) => {
      // A change deliberately leaves servers of the old set behind.
      const sets = setsWith(name, facts).filter((set) => set.name !== "old");
      const peers = sets.flatMap(({ members }) => members.flatMap((each) => each.stored ?? []));
      const [newest] = peers.sort((a, b) => b.epoch - a.epoch);
      if (stored === null || newest === undefined || newest.epoch <= stored.epoch) return null;
      return `serves ${servedBy(stored.epoch)}, and another server of its set ${servedBy(newest.epoch)}`;
    },
  },
  "needs-heal": {
    ...warning("fenced"),
    when:
      "it has no floor and less than a tenth of the fence counters of another server of its kind: it came back empty, is " +
      "new, or unused counters were deleted",
    remedy: healing,
    rule: (view, facts, { name, stored }) => {
      if (stored === null || stored.counters === null || !stored.isComplete || stored.floor > 0) return null;
      // The new set needs floors only when clients use it alone. By then `floor-missing` finds servers without one.
      const sets = setsWith(name, facts).filter((set) => set.name !== "new");
      // Redis has a bounded number of counters, other kinds one for each resource.
      // A floor may be kept as counters.
      const comparable = ({ view: other, stored: kept }: ServerFacts) => other?.kind === view.kind && !kept?.floor;
      const peers = sets.flatMap(({ members }) => members.filter(comparable));
      const most = mostCounters(peers);
      if (most < telltaleCounters || stored.counters >= most * counterShareMin) return null;
      return `has no floor, and ${stored.counters} fence counters where another has ${most}`;
    },
  },
  "floor-missing": {
    ...warning("fenced"),
    when:
      "it has no floor and fewer fence counters than those with a floor, which are a majority of its set: a change of " +
      "servers did not reach it, or it came back empty",
    remedy: healing,
    rule: (_, facts, { name, stored }) => {
      if (stored === null || stored.floor > 0) return null;
      const isMissed = setsWith(name, facts).some(({ members }) => {
        const floored = members.filter((each) => (each.stored?.floor ?? 0) > 0);
        return floored.length >= quorumOf(members.length) && !neverLost(stored, mostCounters(floored));
      });
      return isMissed ? "has no floor, and most servers of its set have one" : null;
    },
  },
};

/** Returns whether a server has always had its counters, while others were healed. */
function neverLost({ counters }: Stored, most: number): boolean {
  return counters !== null && counters >= telltaleCounters && counters >= most * fullShareMin;
}

function mostCounters(servers: readonly ServerFacts[]): number {
  return Math.max(0, ...servers.map(({ stored }) => stored?.counters ?? 0));
}

/** Returns the sets that a server is in. */
function setsWith(name: string, { servers, joint }: Facts): readonly ServerSet<ServerFacts>[] {
  return setsOf(servers, joint ?? undefined).filter(({ members }) => members.some((member) => member.name === name));
}
