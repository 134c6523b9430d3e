/** The findings that servers of several kinds share. */
import { shortMs } from "../output/format.ts";
import type { ServerView } from "./facts.ts";
import { error, type FindingKind, type Findings, notice, type Rule, warning } from "./finding-kind.ts";

/**
 * The largest acceptable clock difference. Time services correct smaller ones gradually, and larger ones in one step.
 */
export const clockDifferenceMaxMs = 500;

type CommonCode =
  | ("unreachable" | "cannot-lock" | "permissions-missing" | "version-unsupported")
  | ("clock-differs" | "hidden" | "unencrypted" | "no-password");

/** The kinds of findings. */
export const commonKinds: Readonly<Record<CommonCode, FindingKind>> = {
  unreachable: {
    ...error("exclusion"),
    when: "it cannot be connected to, does not reply, or refuses the login",
    remedy: "Start it, or correct its address, user or password.",
  },
  "cannot-lock": {
    ...error("exclusion"),
    when: "a trial lock on it fails, for a reason that no other finding explains",
    remedy: "See the error of the server. It counts as a node that fails.",
  },
  "permissions-missing": {
    ...error("exclusion"),
    when: "its user lacks permissions that locks need",
    remedy: "Grant the missing permissions: with ACL SETUSER on Redis, with GRANT on databases.",
  },
  "version-unsupported": {
    ...error("exclusion"),
    when: "it is older than Redis 6.0, PostgreSQL 13, MySQL 8.0.16, MariaDB 10.6 or etcd 3.4",
    remedy: "Upgrade to Redis 7.0, PostgreSQL 13, MySQL 8.0.16, MariaDB 10.6 or etcd 3.4, or later, or to Valkey.",
  },
  "clock-differs": {
    ...warning("exclusion"),
    when: "its clock differs from that of this machine by more than 500 ms",
    remedy:
      "Synchronise both with a time service. When a clock is corrected, claims end earlier or later by the difference.",
  },
  hidden: {
    ...warning("exclusion"),
    when: "its user may not see everything that matters",
    remedy: "Run the doctor as a user with these permissions. Locks themselves do not need them.",
  },
  unencrypted: {
    ...notice(),
    when: "it is on another machine, and the connection has no TLS",
    remedy:
      "Use TLS (rediss://, etcds://, sslmode=verify-full or ssl-mode=VERIFY_IDENTITY) unless the network is trusted: the password and the owners of locks can be read.",
  },
  "no-password": {
    ...notice(),
    when: "it accepts clients without a password",
    remedy:
      "Set requirepass or ACL users on Redis, or enable authentication on etcd: any client that reaches it can release locks and write counters.",
  },
};

/** Returns these findings with the rules of one kind of server. */
export function commonFindings<View extends ServerView>(
  rules: Readonly<Partial<Record<CommonCode, Rule<View>>>>,
): Findings<View> {
  const codes = Object.keys(rules) as CommonCode[];
  return Object.fromEntries(codes.map((code) => [code, { ...commonKinds[code], rule: rules[code] as Rule<View> }]));
}

/** Those whose rules need to know nothing about the kind of server. */
export const findingsOfAll: Findings<ServerView> = commonFindings({
  "clock-differs": ({ clock }) => {
    if (clock === null || Math.abs(clock.aheadMs) - clock.uncertaintyMs <= clockDifferenceMaxMs) return null;
    const [far, margin] = [shortMs(Math.abs(clock.aheadMs)), shortMs(clock.uncertaintyMs)];
    return `has a clock that is ${far} ${clock.aheadMs > 0 ? "ahead of" : "behind"} this machine's, to within ${margin}`;
  },

  unencrypted: (_, __, { address }) =>
    !address.isTls && address.machine !== null && address.machine !== "local" ? "is connected to without TLS" : null,
});
