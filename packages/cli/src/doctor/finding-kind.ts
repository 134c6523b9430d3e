/** The types with which each kind of server describes what may be found about it. */
import type { Facts, ServerFacts, ServerView } from "./facts.ts";

/** The severity of a finding: an error breaks locks, a warning may break them, and a notice is information. */
export type Severity = "error" | "warning" | "notice";

/** All severities, the worst first. */
export const severities: readonly Severity[] = ["error", "warning", "notice"];

/** A kind of finding. */
export interface FindingKind {
  readonly severity: Severity;
  /** The level that the servers miss because of it; null if none. */
  readonly level: Level | null;
  /** The condition under which it is found. */
  readonly when: string;
  /** The remedy. */
  readonly remedy: string;
}

type Weight = Pick<FindingKind, "severity" | "level">;

/** The weight of an error, with the level that the servers miss because of it. */
export function error(level: Level): Weight {
  return { severity: "error", level };
}

/** The weight of a warning, with the level that the servers miss because of it, if any. */
export function warning(level: Level | null = null): Weight {
  return { severity: "warning", level };
}

/** The weight of a notice. */
export function notice(): Weight {
  return { severity: "notice", level: null };
}

/**
 * A rule about a server that replies: returns a message that continues a sentence about the server, or null if there is
 * nothing to report. Servers with the same message are reported together.
 */
export type Rule<View extends ServerView = ServerView> = (
  view: View,
  facts: Facts,
  server: ServerFacts,
) => string | null;

/** The findings about a server that replies, by code: each with its rule. */
export type Findings<View extends ServerView> = Readonly<Record<string, FindingKind & { readonly rule: Rule<View> }>>;

/** The levels of guarantees. Each level includes the one before it. */
export const levels = ["efficiency", "exclusion", "fenced"] as const;

/** One of {@link levels}. */
export type Level = (typeof levels)[number];

/** The title of a level, the guarantee that it gives, and its requirements. */
export interface LevelDescription {
  readonly title: string;
  readonly promise: string;
  readonly needs: string;
}

/** The descriptions of the levels. */
export const levelDescriptions: Readonly<Record<Level, LevelDescription>> = {
  efficiency: {
    title: "efficiency",
    promise: "Locks are available and keep others out most of the time: enough to avoid duplicate work.",
    needs:
      "A quorum of the servers replies and grants locks, no server is named twice, and the options are consistent.",
  },
  exclusion: {
    title: "exclusion under bounded timing",
    promise:
      "One holder at a time, as long as clocks run at the same rate and no holder acts after its lock has ended.",
    needs:
      "Every server works and can be inspected. None forgets its claims: not by eviction, not by a failover to a " +
      "replica, not by a restart (`appendfsync always`, or a restart guard of at least the ttl; in databases, commits " +
      "that wait for the disk). The clocks agree.",
  },
  fenced: {
    title: "fenced and durable",
    promise: "Tokens increase in spite of crashes and pauses: storage that checks them refuses every late write.",
    needs:
      "Every server keeps its fence counters in a crash: `appendonly yes` with `appendfsync always`; in databases, " +
      "commits that wait for the disk; an etcd cluster; a SQLite file on a disk.",
  },
};

/** Returns whether missing one level means missing the other, too. */
export function isAtMost(level: Level, other: Level): boolean {
  return levels.indexOf(level) <= levels.indexOf(other);
}
