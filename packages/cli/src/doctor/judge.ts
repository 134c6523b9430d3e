import { setsOf, spareOf } from "../servers/sets.ts";
import { changeFindings } from "./change-findings.ts";
import { commonKinds, commonRules } from "./common-findings.ts";
import type { Facts, ServerFacts } from "./facts.ts";
import {
  type CommonCode,
  type FindingKind,
  isAtMost,
  type Level,
  levels,
  type Severity,
  severities,
} from "./finding-kind.ts";
import { recommendedNodeTimeoutMs, setFindings } from "./set-findings.ts";
import { specialistFor, specialists } from "./specialists.ts";

/** A finding about the servers. */
export interface Finding {
  readonly code: string;
  readonly severity: Severity;
  /** The name of the server; null if the finding is about all servers together. */
  readonly server: string | null;
  /** The message. If it is about a server, it continues a sentence that begins with the server's name. */
  readonly message: string;
  /** The remedy. */
  readonly remedy: string;
  /** The level that is missed because of it; null if none. */
  readonly level: Level | null;
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
  const specialist = specialistFor(view);
  const shared = Object.entries({ ...commonRules, ...specialist.commonRules }).map(([code, rule]) => {
    return [code, { ...commonKinds[code as CommonCode], rule }] as const;
  });
  const checked = [...shared, ...Object.entries({ ...changeFindings, ...specialist.findings })];
  return checked.flatMap(([code, kind]) => finding(code, kind, name, kind.rule(view, facts, server)));
}

function finding(code: string, kind: FindingKind, server: string | null, message: string | null): Finding[] {
  if (message === null) return [];
  const { severity, level, remedy } = kind;
  return [{ code, severity, server, message, remedy, level }];
}

/** All kinds of findings, by code. Findings of equal severity are reported in this order. */
export const kinds: Readonly<Record<string, FindingKind>> = Object.assign(
  {},
  ...[setFindings, commonKinds, changeFindings, ...Object.values(specialists).map(({ findings }) => findings)],
);
const codes = Object.keys(kinds);

function byWeight(a: Finding, b: Finding): number {
  return (
    severities.indexOf(a.severity) - severities.indexOf(b.severity) || codes.indexOf(a.code) - codes.indexOf(b.code)
  );
}
