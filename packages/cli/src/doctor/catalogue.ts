import { type EtcdCode, etcdKinds, etcdSpecialist } from "../servers/etcd/etcd-findings.ts";
import { type PostgresCode, postgresKinds, postgresSpecialist } from "../servers/postgres/postgres-findings.ts";
import { type RedisCode, redisKinds, redisSpecialist } from "../servers/redis/redis-findings.ts";
import { type SqliteCode, sqliteKinds, sqliteSpecialist } from "../servers/sqlite/sqlite-findings.ts";
import { type ChangeCode, changeKinds, changeRules } from "./change-findings.ts";
import { type CommonCode, commonKinds, commonRules } from "./common-findings.ts";
import type { KindName, ServerView } from "./facts.ts";
import type { FindingKind, Rule, Specialist, Summary } from "./finding-kind.ts";

/** The findings about a single server. */
export type ServerCode = CommonCode | ChangeCode | RedisCode | PostgresCode | EtcdCode | SqliteCode;

/** The findings about all servers together. */
export type SetCode =
  | "no-quorum"
  | "same-server"
  | "guard-too-short"
  | "clocks-apart"
  | "same-machine"
  | "node-timeout-too-short"
  | "ttl-too-short"
  | "single-server"
  | "even-number"
  | "different-versions"
  | "different-databases";

/** All findings. */
export type Code = ServerCode | SetCode;

const setKinds: Readonly<Record<SetCode, FindingKind>> = {
  "no-quorum": {
    severity: "error",
    level: "efficiency",
    when: "fewer servers than a quorum grant locks",
    remedy: "See the findings about the servers. Until then, no client gets a lock.",
  },
  "same-server": {
    severity: "error",
    level: "efficiency",
    when: "a server is named twice, by two addresses or databases",
    remedy: "Name it once: one server must not vote twice.",
  },
  "guard-too-short": {
    severity: "error",
    level: "efficiency",
    when: "the restart guard is shorter than the ttl",
    remedy: "Set a restart guard of at least the longest ttl: adapters refuse longer ttls.",
  },
  "clocks-apart": {
    severity: "warning",
    level: "exclusion",
    when: "the clocks of two servers differ by more than 500 ms, though neither differs that much from this machine's",
    remedy:
      "Synchronise them with a time service. When a clock is corrected, claims end earlier or later by the difference.",
  },
  "same-machine": {
    severity: "warning",
    level: null,
    when: "so many servers share a machine that there is no quorum without it",
    remedy: "Run each server on a separate machine, so that they fail independently.",
  },
  "node-timeout-too-short": {
    severity: "warning",
    level: null,
    when: "a server exceeds the node timeout in 1 of 100 replies",
    remedy: "Set the recommended node timeout.",
  },
  "ttl-too-short": {
    severity: "warning",
    level: null,
    when: "a tenth of the ttl is less than five times the 99th percentile of the slowest server",
    remedy: "Choose a longer ttl, or closer servers: much of the ttl passes before the lock is granted.",
  },
  "single-server": {
    severity: "notice",
    level: null,
    when: "there is one server",
    remedy:
      "Use three or five Redis servers, or an etcd cluster of three or five members, if locks must be available while " +
      "one is down.",
  },
  "even-number": {
    severity: "notice",
    level: null,
    when: "the number of servers is even",
    remedy: "Use an odd number: the last server of an even number can fail, but lets no further failure be survived.",
  },
  "different-versions": {
    severity: "notice",
    level: null,
    when: "the servers have different versions",
    remedy: "Upgrade the older ones, unless an upgrade is in progress.",
  },
  "different-databases": {
    severity: "notice",
    level: null,
    when: "the servers are used with different databases",
    remedy:
      "Make sure that all clients use the same database on each server: locks in another database are invisible to them.",
  },
};

/** All kinds of findings. Findings of equal severity are reported in this order. */
export const kinds: Readonly<Record<Code, FindingKind>> = {
  ...setKinds,
  ...commonKinds,
  ...changeKinds,
  ...redisKinds,
  ...postgresKinds,
  ...etcdKinds,
  ...sqliteKinds,
};

const specialists: Readonly<Record<KindName, Specialist<never>>> = {
  redis: redisSpecialist,
  postgres: postgresSpecialist,
  etcd: etcdSpecialist,
  sqlite: sqliteSpecialist,
};

/** Returns the rules about a server, by code. */
export function rulesFor({ kind }: ServerView): readonly (readonly [Code, Rule])[] {
  return Object.entries({ ...commonRules, ...changeRules, ...specialistFor(kind).rules }) as [Code, Rule][];
}

/** Returns what the report shows about a server. */
export function summaryOf(view: ServerView): Summary {
  return specialistFor(view.kind).summarize(view);
}

/** A view is passed only to the specialist for its kind. */
function specialistFor(kind: KindName): Specialist {
  return specialists[kind] as Specialist<ServerView>;
}
