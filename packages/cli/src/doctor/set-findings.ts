import { listed, longMs, shortMs } from "../output/format.ts";
import { quorumOf, setsOf } from "../servers/sets.ts";
import { clockDifferenceMaxMs } from "./common-findings.ts";
import type { ClockFacts, Facts, ServerFacts } from "./facts.ts";
import { error, type FindingKind, notice, warning } from "./finding-kind.ts";

/** A rule about all servers together: returns a message, or null if there is nothing to report. */
type Rule = (facts: Facts) => string | null;

/** A kind of finding about all servers together, and its rule. */
export interface SetFinding extends FindingKind {
  readonly rule: Rule;
}

/** The findings about all servers together. */
export const setFindings: Readonly<Record<string, SetFinding>> = {
  "no-quorum": {
    ...error("efficiency"),
    when: "fewer servers than a quorum grant locks",
    remedy: "See the findings about the servers. Until then, no client gets a lock.",
    rule: ofEachSet((servers) => {
      const [votes, quorum] = [votersOf(servers), quorumOf(servers.length)];
      return votes < quorum ? `${votes} of ${servers.length} servers grant locks, ${quorum} needed` : null;
    }),
  },
  "same-server": {
    ...error("efficiency"),
    when: "a server is named twice, by two addresses or databases",
    remedy: "Name it once: one server must not vote twice.",
    rule: ({ servers }) => {
      const identities = servers.map(({ name, view }) => [view?.summary.identity, name] as const);
      const twice = [...groups(identities).values()].filter((names) => names.length > 1);
      return twice.length > 0
        ? twice.map((names) => `the addresses ${listed(names)} are of one server`).join("; ")
        : null;
    },
  },
  "guard-too-short": {
    ...error("efficiency"),
    when: "the restart guard is shorter than the ttl",
    remedy: "Set a restart guard of at least the longest ttl: adapters refuse longer ttls.",
    rule: ({ restartGuardMs, ttlMs }) =>
      restartGuardMs > 0 && restartGuardMs < ttlMs
        ? `the restart guard, ${longMs(restartGuardMs)}, is shorter than the ttl, ${longMs(ttlMs)}`
        : null,
  },
  "clocks-apart": {
    ...warning("exclusion"),
    when: "the clocks of two servers differ by more than 500 ms, though neither differs that much from this machine's",
    remedy:
      "Synchronise them with a time service. When a clock is corrected, claims end earlier or later by the difference.",
    rule: ({ servers }) => {
      const clocks = servers.flatMap(({ view }) => view?.clock ?? []);
      const isFar = ({ aheadMs, uncertaintyMs }: ClockFacts) =>
        Math.abs(aheadMs) - uncertaintyMs > clockDifferenceMaxMs;
      if (clocks.length < 2 || clocks.some(isFar)) return null;
      const first = Math.min(...clocks.map(({ aheadMs, uncertaintyMs }) => aheadMs + uncertaintyMs));
      const last = Math.max(...clocks.map(({ aheadMs, uncertaintyMs }) => aheadMs - uncertaintyMs));
      return last - first > clockDifferenceMaxMs
        ? `the clocks of the servers are ${shortMs(last - first)} apart`
        : null;
    },
  },
  "same-machine": {
    ...warning(),
    when: "so many servers share a machine that there is no quorum without it",
    remedy: "Run each server on a separate machine, so that they fail independently.",
    rule: ofEachSet((servers) => {
      const machines = groups(servers.map(({ name, address: { machine } }) => [machine, name] as const));
      const spare = servers.length - quorumOf(servers.length);
      const [machine, names = []] = [...machines].find(([, those]) => those.length > Math.max(1, spare)) ?? [];
      if (machine === undefined) return null;
      const which = names.length === servers.length ? `all ${names.length} servers` : `the servers ${listed(names)}`;
      return `${which} are on ${machine === "local" ? "this machine" : `one machine (${machine})`}: without it there is no quorum`;
    }),
  },
  "node-timeout-too-short": {
    ...warning(),
    when: "a server exceeds the node timeout in 1 of 100 replies",
    remedy: "Set the recommended node timeout.",
    rule: (facts) => {
      const p99Ms = slowestMs(facts);
      if (p99Ms === null || p99Ms <= facts.nodeTimeoutMs) return null;
      return `1 of 100 replies takes ${shortMs(p99Ms)}, longer than the node timeout, ${longMs(facts.nodeTimeoutMs)}`;
    },
  },
  "ttl-too-short": {
    ...warning(),
    when: "a tenth of the ttl is less than five times the 99th percentile of the slowest server",
    remedy: "Choose a longer ttl, or closer servers: much of the ttl passes before the lock is granted.",
    rule: (facts) => {
      const leastMs = leastTtlMs(facts);
      if (leastMs === null || leastMs <= facts.ttlMs) return null;
      return `the ttl, ${longMs(facts.ttlMs)}, is short for these latencies: use ${longMs(leastMs)} or more`;
    },
  },
  "single-server": {
    ...notice(),
    when: "there is one server",
    remedy:
      "Use three or five Redis servers, or an etcd cluster of three or five members, if locks must be available while " +
      "one is down.",
    rule: ofEachSet(([server, ...others]) => {
      if (server === undefined || others.length > 0) return null;
      const { members = 1 } = server.view?.summary ?? {};
      return members === 1 ? "there is one server: none may fail" : null;
    }),
  },
  "even-number": {
    ...notice(),
    when: "the number of servers is even",
    remedy: "Use an odd number: the last server of an even number can fail, but lets no further failure be survived.",
    rule: ofEachSet(({ length }) => {
      if (length % 2 === 1) return null;
      const mayFail = length - quorumOf(length);
      return `there are ${length} servers: ${mayFail === 0 ? "none" : mayFail} may fail, as with ${length - 1}`;
    }),
  },
  "different-versions": {
    ...notice(),
    when: "the servers have different versions",
    remedy: "Upgrade the older ones, unless an upgrade is in progress.",
    rule: ({ servers }) => {
      const versions = groups(servers.map(({ view }) => [view?.summary.version, view?.kind ?? ""] as const));
      const kinds = [...versions.values()].map(([kind]) => kind);
      const differing = [...versions.keys()].filter(
        (_, index) => kinds.filter((kind) => kind === kinds[index]).length > 1,
      );
      return differing.length > 0 ? `the servers run ${listed(differing.sort())}` : null;
    },
  },
  "different-databases": {
    ...notice(),
    when: "the servers are used with different databases",
    remedy:
      "Make sure that all clients use the same database on each server: locks in another database are invisible to them.",
    rule: ({ servers }) => {
      const databases = new Set(servers.flatMap(({ address }) => address.database ?? []));
      return databases.size > 1 ? `the databases ${listed([...databases].sort().map(String))} are used` : null;
    },
  },
};

/** Returns a rule that holds for each of the joint sets, or for all servers. */
function ofEachSet(rule: (servers: readonly ServerFacts[]) => string | null): Rule {
  return ({ servers, joint }) => {
    const messages = setsOf(servers, joint ?? undefined).flatMap(({ name, members }) => {
      const message = rule(members);
      if (message === null) return [];
      return name === null ? message : `in the ${name} set, ${message}`;
    });
    return messages.length > 0 ? messages.join("; ") : null;
  };
}

/** Returns the number of servers that can grant a lock. */
function votersOf(servers: readonly ServerFacts[]): number {
  return servers.filter(({ view }) => view !== null && view.lockFailure === null).length;
}

/** Returns the values by key. Those without a key are left out. */
function groups(entries: readonly (readonly [key: string | null | undefined, value: string])[]): Map<string, string[]> {
  const map = new Map<string, string[]>();
  for (const [key, value] of entries) if (key) map.set(key, [...(map.get(key) ?? []), value]);
  return map;
}

/** The least node timeout: with less, a pause of the client looks like a server that fails. */
const leastMs = 50;
/** The node timeout as a multiple of the 99th percentile of the latency. */
const margin = 5;
/**
 * The largest node timeout as a share of the ttl. A lock takes up to two rounds, so four fifths of the ttl are left
 * even if a server times out in both.
 */
const shareOfTtl = 0.1;

/**
 * Returns the recommended node timeout in milliseconds: 5 times the 99th percentile of the slowest server, at least 50
 * ms and what the nodes suggest, and at most a tenth of the ttl, rounded up to tens if the ttl allows. A server that is
 * down then costs a lock little of its ttl, and a slow server does not count as down. Null if no latency was measured.
 */
export function recommendedNodeTimeoutMs(facts: Facts): number | null {
  const p99Ms = slowestMs(facts);
  if (p99Ms === null) return null;
  const wantedMs = Math.max(leastMs, facts.suggestedNodeTimeoutMs, Math.ceil((margin * p99Ms) / 10) * 10);
  return Math.max(1, Math.min(wantedMs, Math.floor(facts.ttlMs * shareOfTtl)));
}

/** Returns the least recommended ttl for the latencies in milliseconds; null if no latency was measured. */
export function leastTtlMs(facts: Facts): number | null {
  const p99Ms = slowestMs(facts);
  return p99Ms === null ? null : Math.ceil((margin * p99Ms) / shareOfTtl);
}

/** Returns the 99th percentile of the slowest server. */
function slowestMs({ servers }: Facts): number | null {
  const latencies = servers.flatMap(({ view }) => (view?.latency ? [view.latency.p99Ms] : []));
  return latencies.length === 0 ? null : Math.max(...latencies);
}
