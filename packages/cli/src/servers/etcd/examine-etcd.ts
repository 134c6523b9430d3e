import type { LockNode } from "@holdfast/core";
import { trialResource, tryLock } from "../../doctor/try-lock.ts";
import type { ExamineOptions } from "../server.ts";
import type { EtcdAddress } from "./etcd-address.ts";
import type { EtcdView } from "./etcd-findings.ts";
import type { Gateway, Reply } from "./gateway.ts";

/**
 * Makes the observations that the doctor judges. See `Server.examine`.
 *
 * @param isAnonymous whether this program has neither a password nor a certificate
 */
export async function examineEtcd(
  node: LockNode,
  { hosts }: Pick<EtcdAddress, "hosts">,
  gateway: Gateway,
  isAnonymous: boolean,
  options: ExamineOptions,
): Promise<EtcdView> {
  const statuses = await Promise.all(hosts.map((host) => gateway(host, "maintenance/status")));
  const alive = hosts.find((_, index) => statuses[index] !== null) ?? hosts[0] ?? "";
  const status = statuses.find((each) => each !== null) ?? null;
  // A member that refuses the request also replies; a cluster that hides its status from everybody is not silent.
  const silent = status === null ? [] : hosts.filter((_, index) => statuses[index] === null);
  const members = await gateway(alive, "cluster/member/list");
  const alarms = await gateway(alive, "maintenance/alarm", { action: "GET" });
  const login = await gateway(alive, "auth/status");
  const { lockFailure, latency } = await tryLock(node, trialResource, options);
  const header = status?.header as { readonly cluster_id?: unknown } | undefined;
  return {
    kind: "etcd",
    latency,
    clock: null, // etcd does not report its clock
    clusterId: header?.cluster_id === undefined ? null : String(header.cluster_id),
    version: status === null ? null : String(status.version),
    members: Array.isArray(members?.members) ? members.members.length : null,
    silent,
    named: hosts.length,
    alarms: alarms === null ? null : alarmsIn(alarms),
    hasLogin: hasLogin(login, isAnonymous && lockFailure === null),
    lockFailure,
  };
}

/** etcd before 3.5 does not tell whether clients have to log in. */
function hasLogin(status: Reply | null, hasLockedWithout: boolean): boolean | null {
  if (hasLockedWithout) return false;
  return status?.enabled === true ? true : null;
}

function alarmsIn({ alarms }: Reply): readonly string[] {
  const list = Array.isArray(alarms) ? (alarms as readonly { readonly alarm?: unknown }[]) : [];
  return [...new Set(list.map(({ alarm }) => String(alarm)))];
}
