import { once } from "node:events";
import { type IncomingMessage, request as requestPlain } from "node:http";
import { request as requestTls } from "node:https";
import { text } from "node:stream/consumers";
import type { LockNode } from "@holdfast/core";
import { trialResource, tryLock } from "../../doctor/try-lock.ts";
import type { ExamineOptions, TlsOptions } from "../server.ts";
import type { EtcdAddress } from "./etcd-address.ts";
import type { EtcdView } from "./etcd-findings.ts";

/** Makes the observations that the doctor judges. See `Server.examine`. */
export async function examineEtcd(
  node: LockNode,
  address: EtcdAddress,
  tls: TlsOptions,
  options: ExamineOptions,
): Promise<EtcdView> {
  const { hosts, username } = address;
  const gateway = gatewayTo(address, tls, options.answerTimeoutMs);
  const statuses = await Promise.all(hosts.map((host) => gateway(host, "maintenance/status")));
  const alive = hosts.find((_, index) => statuses[index] !== null) ?? hosts[0] ?? "";
  const status = statuses.find((each) => each !== null) ?? null;
  // A member that refuses the request also replies; a cluster that hides its status from everybody is not silent.
  const silent = status === null ? [] : hosts.filter((_, index) => statuses[index] === null);
  const members = await gateway(alive, "cluster/member/list");
  const alarms = await gateway(alive, "maintenance/alarm", { action: "GET" });
  const login = await gateway(alive, "auth/status");
  const isAnonymous = username === undefined && tls.cert === undefined;
  const { lockFailure, latency } = await tryLock(node, trialResource, options);
  const header = status?.header as { readonly cluster_id?: unknown } | undefined;
  const version = status === null ? null : String(status.version);
  const memberCount = Array.isArray(members?.members) ? members.members.length : null;
  return {
    kind: "etcd",
    latency,
    clock: null, // etcd does not report its clock
    version,
    members: memberCount,
    silent,
    named: hosts.length,
    alarms: alarms === null ? null : alarmsIn(alarms),
    // etcd before 3.5 does not tell whether clients have to log in.
    hasLogin: isAnonymous && lockFailure === null ? false : login?.enabled === true || null,
    lockFailure,
    summary: {
      identity: header?.cluster_id === undefined ? null : String(header.cluster_id),
      version: version && `etcd ${version}`,
      uptimeMs: null,
      onDisk: "always",
      members: memberCount ?? 1,
    },
  };
}

function alarmsIn({ alarms }: Reply): readonly string[] {
  const list = Array.isArray(alarms) ? (alarms as readonly { readonly alarm?: unknown }[]) : [];
  return [...new Set(list.map(({ alarm }) => String(alarm)))];
}

/** The reply of a member. */
type Reply = Readonly<Record<string, unknown>>;

/**
 * Calls a method of one member over the JSON interface of the cluster, for what locks do not need. The path is such as
 * `maintenance/status`. Returns null if the member refuses or does not reply.
 */
type Gateway = (host: string, path: string, body?: object) => Promise<Reply | null>;

/** Returns the interface of a cluster. Each call opens a connection of its own. */
function gatewayTo({ isTls, username, password }: EtcdAddress, tls: TlsOptions, timeoutMs: number): Gateway {
  let token: Promise<string> | undefined;
  const send = async (host: string, path: string, body: object, authorization: string): Promise<Reply | null> => {
    const request = isTls ? requestTls : requestPlain;
    const headers = { "content-type": "application/json", ...(authorization !== "" && { authorization }) };
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const url = `${isTls ? "https" : "http"}://${host}/v3/${path}`;
      const sent = request(url, { method: "POST", headers, agent: false, signal, ...(isTls && tls) });
      sent.end(JSON.stringify(body));
      const [response] = (await once(sent, "response")) as [IncomingMessage];
      sent.on("error", () => {}); // of a connection that is lost later: reading the response fails, too
      const reply = await text(response);
      return response.statusCode === 200 ? JSON.parse(reply) : null;
    } catch {
      return null;
    }
  };
  const logIn = async (host: string): Promise<string> => {
    if (username === undefined) return "";
    const reply = await send(host, "auth/authenticate", { name: username, password }, "");
    return String(reply?.token ?? "");
  };
  return async (host, path, body = {}) => {
    token ??= logIn(host);
    return send(host, path, body, await token);
  };
}
