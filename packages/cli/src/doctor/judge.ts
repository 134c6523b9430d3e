import { etcdFindings } from "../servers/etcd/etcd-findings.ts";
import { mysqlFindings } from "../servers/mysql/mysql-findings.ts";
import { postgresFindings } from "../servers/postgres/postgres-findings.ts";
import { redisFindings } from "../servers/redis/redis-findings.ts";
import { setsOf, spareOf } from "../servers/sets.ts";
import { sqliteFindings } from "../servers/sqlite/sqlite-findings.ts";
import { changeFindings } from "./change-findings.ts";
import { commonKinds, findingsOfAll } from "./common-findings.ts";
import type { Facts, KindName, ServerFacts, ServerView } from "./facts.ts";
import { type FindingKind, type Findings, isAtMost, type Level, levels, severities } from "./finding-kind.ts";
import { recommendedNodeTimeoutMs, setFindings } from "./set-findings.ts";

/** The findings about servers of one kind. */
const findingsByKind: Readonly<Record<KindName, Findings<never>>> = {
  redis: redisFindings,
  postgres: postgresFindings,
  mysql: mysqlFindings,
  etcd: etcdFindings,
  sqlite: sqliteFindings,
};

/** A finding about the servers. */
export interface Finding extends Omit<FindingKind, "when"> {
  readonly code: string;
  /** The name of the server; null if the finding is about all servers together. */
  readonly server: string | null;
  /** The message. If it is about a server, it continues a sentence that begins with the server's name. */
  readonly message: string;
}

/** The conclusions from the facts. */
export interface Diagnosis {
  /** The highest level that no finding contradicts; null if there is none. */
  readonly level: Level | null;
  /** The number of servers that grant a lock, whichever they are. In joint sets, fewer may be enough. */
  readonly quorum: number;
  /** The number of servers that may fail, whichever they are, while locks remain available. */
  readonly mayFail: number;
  /** The recommended node timeout in milliseconds; null if no latency was measured. */
  readonly recommendedNodeTimeoutMs: number | null;
  /** All findings by severity, the worst first, then in the order of the catalogue. */
  readonly findings: readonly Finding[];
}

/** The complete report of the doctor, as `--json` prints it. Durations are in milliseconds. */
export interface Report extends Diagnosis, Facts {
  /** The required level. */
  readonly required: Level;
  /** Whether the required level is reached. */
  readonly ok: boolean;
}

/** Returns the report about the facts. */
export function reportOf(facts: Facts, required: Level): Report {
  const diagnosis = judge(facts);
  return { ok: findingsAgainst(required, diagnosis.findings).length === 0, required, ...diagnosis, ...facts };
}

/** Draws conclusions from the facts. The result depends on the facts alone. */
export function judge(facts: Facts): Diagnosis {
  const findings = [...findingsOfSet(facts), ...facts.servers.flatMap((server) => findingsOf(server, facts))];
  const mayFail = spareOf(setsOf(facts.servers, facts.joint ?? undefined));
  return {
    level: levelOf(findings),
    quorum: facts.servers.length - mayFail,
    mayFail,
    recommendedNodeTimeoutMs: recommendedNodeTimeoutMs(facts),
    findings: findings.sort(byWeight),
  };
}

/** Returns the findings that prevent a level. */
export function findingsAgainst(level: Level, findings: readonly Finding[]): readonly Finding[] {
  return findings.filter((finding) => finding.level !== null && isAtMost(finding.level, level));
}

function levelOf(findings: readonly Finding[]): Level | null {
  return levels.findLast((level) => findingsAgainst(level, findings).length === 0) ?? null;
}

function findingsOfSet(facts: Facts): Finding[] {
  return Object.entries(setFindings).flatMap(([code, kind]) => finding(code, kind, null, kind.rule(facts)));
}

function findingsOf(server: ServerFacts, facts: Facts): Finding[] {
  const { name, view, failure } = server;
  if (view === null) return finding("unreachable", commonKinds.unreachable, name, `cannot be used: ${failure}`);
  const checked = { ...findingsOfAll, ...changeFindings, ...(findingsByKind[view.kind] as Findings<ServerView>) };
  return Object.entries(checked).flatMap(([code, kind]) => finding(code, kind, name, kind.rule(view, facts, server)));
}

function finding(code: string, kind: FindingKind, server: string | null, message: string | null): Finding[] {
  if (message === null) return [];
  const { severity, level, remedy } = kind;
  return [{ code, severity, server, message, remedy, level }];
}

/** All kinds of findings, by code. Findings of equal severity are reported in this order. */
export const kinds: Readonly<Record<string, FindingKind>> = Object.assign(
  {},
  ...[setFindings, commonKinds, changeFindings, ...Object.values(findingsByKind)],
);
const codes = Object.keys(kinds);

function byWeight(a: Finding, b: Finding): number {
  return (
    severities.indexOf(a.severity) - severities.indexOf(b.severity) || codes.indexOf(a.code) - codes.indexOf(b.code)
  );
}
