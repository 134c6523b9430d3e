import { quorumOf } from "../servers/servers.ts";
import { type Code, kinds, type ServerCode, type SetCode, type Severity, severities } from "./catalogue.ts";
import type { Facts, ServerFacts } from "./facts.ts";
import { isAtMost, type Level, levels } from "./levels.ts";
import { serverRules } from "./server-rules.ts";
import { setRules } from "./set-rules.ts";
import { recommendedNodeTimeoutMs } from "./timeouts.ts";

/** Something about the servers that somebody should know. */
export interface Finding {
  readonly code: Code;
  readonly severity: Severity;
  /** The name of the server that it is about; null if it is about all of them together. */
  readonly server: string | null;
  /** What is the case. About a server, it goes on after the server's name. */
  readonly message: string;
  /** What to do about it. */
  readonly remedy: string;
  /** The level that is not reached because of it; null if there is none. */
  readonly level: Level | null;
}

/** What is to be made of the facts. */
export interface Diagnosis {
  /** The highest level that nothing speaks against; null if there is none. */
  readonly level: Level | null;
  /** How many servers must grant a lock. */
  readonly quorum: number;
  /** How many servers may fail with locks still to be had. */
  readonly mayFail: number;
  /** How long to wait for each server; null where nothing was measured. */
  readonly recommendedNodeTimeoutMs: number | null;
  /** The worst first; of those that are equally bad, those that keep from more. */
  readonly findings: readonly Finding[];
}

/** Judges the facts. The same facts are always judged alike. */
export function judge(facts: Facts): Diagnosis {
  const findings = [...findingsOfSet(facts), ...facts.servers.flatMap((server) => findingsOf(server, facts))];
  const quorum = quorumOf(facts.servers.length);
  return {
    level: levelOf(findings),
    quorum,
    mayFail: facts.servers.length - quorum,
    recommendedNodeTimeoutMs: recommendedNodeTimeoutMs(facts),
    findings: findings.sort(byWeight),
  };
}

/** Those findings because of which a level is not reached. */
export function findingsAgainst(level: Level, findings: readonly Finding[]): readonly Finding[] {
  return findings.filter((finding) => finding.level !== null && isAtMost(finding.level, level));
}

function levelOf(findings: readonly Finding[]): Level | null {
  return levels.findLast((level) => findingsAgainst(level, findings).length === 0) ?? null;
}

function findingsOfSet(facts: Facts): Finding[] {
  const codes = Object.keys(setRules) as SetCode[];
  return codes.flatMap((code) => finding(code, null, setRules[code](facts)));
}

function findingsOf(server: ServerFacts, facts: Facts): Finding[] {
  const { name, view, failure } = server;
  if (view === null) return finding("unreachable", name, `cannot be used: ${failure}`);
  const codes = Object.keys(serverRules) as Exclude<ServerCode, "unreachable">[];
  return codes.flatMap((code) => finding(code, name, serverRules[code](view, facts, server)));
}

function finding(code: Code, server: string | null, message: string | null): Finding[] {
  if (message === null) return [];
  const { severity, level, remedy } = kinds[code];
  return [{ code, severity, server, message, remedy, level }];
}

const codes = Object.keys(kinds) as Code[];

function byWeight(a: Finding, b: Finding): number {
  return (
    severities.indexOf(a.severity) - severities.indexOf(b.severity) || codes.indexOf(a.code) - codes.indexOf(b.code)
  );
}
