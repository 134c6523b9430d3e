/** What the doctor may find about an etcd cluster. */
import { commonFindings } from "../../doctor/common-findings.ts";
import type { ServerView } from "../../doctor/facts.ts";
import { error, type Findings, notice, warning } from "../../doctor/finding-kind.ts";
import { listed } from "../../output/format.ts";

/** The observations of an etcd cluster. Everything that its user may not see is null. */
export interface EtcdView extends ServerView {
  readonly kind: "etcd";
  /** The version of the first member that replies. */
  readonly version: string | null;
  /** The number of members. */
  readonly members: number | null;
  /** The named members that do not reply. */
  readonly silent: readonly string[];
  /** The number of named members. */
  readonly named: number;
  /** The active alarms. */
  readonly alarms: readonly string[] | null;
  /** Whether clients have to log in; null if this is not known. */
  readonly hasLogin: boolean | null;
}

/** The findings about etcd. */
export const etcdFindings: Findings<EtcdView> = {
  ...commonFindings<EtcdView>({
    "cannot-lock": ({ lockFailure, alarms }) =>
      lockFailure === null || (alarms ?? []).length > 0 ? null : `failed a trial lock: ${lockFailure}`,

    "version-unsupported": ({ version }) => {
      const [major = 0, minor = 0] = (version ?? "9.9").split(".").map(Number);
      return major * 100 + minor < 304 ? `runs etcd ${version}` : null;
    },

    hidden: ({ version, members, alarms }) => {
      const unseen = [
        ...(version === null ? ["its version"] : []),
        ...(members === null ? ["its members"] : []),
        ...(alarms === null ? ["its alarms"] : []),
      ];
      return unseen.length > 0 ? `hides ${listed(unseen)} from its user` : null;
    },

    "no-password": ({ hasLogin }) => (hasLogin === false ? "accepts clients without a password" : null),
  }),
  alarm: {
    ...error("exclusion"),
    when: "an etcd cluster has raised an alarm: its space is used up, or a member is corrupt",
    remedy:
      "NOSPACE: compact and defragment, or raise --quota-backend-bytes, then etcdctl alarm disarm. CORRUPT: replace the member.",
    rule: ({ alarms }) => (alarms?.length ? `has raised an alarm: ${listed(alarms)}` : null),
  },
  "member-silent": {
    ...warning(),
    when: "a member of an etcd cluster does not reply",
    remedy: "Start it, or correct its address: the cluster survives fewer further failures.",
    rule: ({ silent }) =>
      silent.length > 0
        ? `has ${silent.length === 1 ? "a member that does" : "members that do"} not reply: ${listed(silent)}`
        : null,
  },
  "members-unnamed": {
    ...notice(),
    when: "not all members of an etcd cluster are named",
    remedy: "Name all of them, etcd://a,b,c: locks then remain available while some are down.",
    rule: ({ members, named }) =>
      members !== null && members > named
        ? `has ${members} members, ${named} of which ${named === 1 ? "is" : "are"} named`
        : null,
  },
};
