/** What the errors of gRPC and etcd mean for a call. */
import { type ServiceError, status } from "@grpc/grpc-js";

/** What a caller can do about a failure. */
export type Remedy =
  /** Another member may be reachable. */
  | "another member"
  /** The cluster is electing a leader, or the connection was lost: it may work in a moment. */
  | "again soon"
  /** The token has ended: log in again. */
  | "new token"
  /** The lease has ended: take another one. */
  | "new lease"
  /** There was no reply in time. */
  | "more time"
  /** The server refused the request. It may accept it later. */
  | "none"
  /** The server refuses the request until the configuration changes. */
  | "other configuration";

/** A call that failed, with the reason and its remedy. */
export class EtcdError extends Error {
  override readonly name = "EtcdError";
  /** The remedy. */
  readonly remedy: Remedy;

  constructor(message: string, remedy: Remedy, cause?: unknown) {
    super(message, { cause });
    this.remedy = remedy;
  }

  /** Whether the server has certainly not executed the request, and will not. */
  get isRefusal(): boolean {
    return ["new token", "new lease", "other configuration"].includes(this.remedy);
  }
}

/** etcd's own words, with what they mean, and what to tell the user in addition. */
const refusals: readonly (readonly [RegExp, Remedy, string?])[] = [
  [/requested lease not found/, "new lease"],
  [/invalid auth token|revision of auth store is old/, "new token"],
  [/user name is empty/, "other configuration", "pass username and password"],
  [/authentication failed/, "other configuration", "check username and password"],
  [/permission denied/, "other configuration", "grant the user's role read and write access to the prefix"],
  [/too many operations in txn/, "other configuration", "raise the server's --max-txn-ops, or lock fewer resources"],
  [/request is too large/, "other configuration", "raise the server's --max-request-bytes"],
  [/database space exceeded/, "none", "compact, defragment, then disarm the alarm"],
  [
    /leader|timed out|timeout|too many requests|stopped|not ready|learner|unhealthy|cluster is unavailable/,
    "again soon",
  ],
];

/** Mistakes of TLS that no retry repairs. The words are OpenSSL's and Node's. */
const tlsMistakes: readonly (readonly [RegExp, string])[] = [
  [/self[- ]signed|unable to (verify|get)/i, "pass the authority that signed its certificate as tls.ca"],
  [/altnames|Hostname\/IP/i, "connect to a host that its certificate names"],
  [/certificate has expired|not yet valid/i, "renew its certificate"],
  [/wrong version number|packet length too long/i, "it does not use TLS: write http://"],
  [/certificate required|bad certificate|unknown ca|handshake failure/i, "pass tls.cert and tls.key"],
];

/** Signs that only one side uses TLS, or that a connection was lost by chance: another attempt may work. */
const cutShort =
  /before secure TLS connection|Failed to connect|Connection dropped|ECONNRESET|socket hang up|Protocol error/i;

/**
 * Returns the failure of a call.
 *
 * @param address the address of the member
 * @param usesTls whether the connection uses TLS, if the caller wants advice about that
 */
export function failureOf(error: ServiceError, address: string, usesTls?: boolean): EtcdError {
  const { code, details = "" } = error;
  const failure = (remedy: Remedy, text: string, advice?: string): EtcdError =>
    new EtcdError(`etcd at ${address}: ${text}${advice === undefined ? "" : ` (${advice})`}`, remedy, error);

  if (details.startsWith("etcdserver:") || details.startsWith("auth:")) {
    const [, remedy = "none", advice] = refusals.find(([words]) => words.test(details)) ?? [];
    return failure(remedy, details.replace(/^etcdserver: /, ""), advice);
  }
  if (code === status.DEADLINE_EXCEEDED || code === status.CANCELLED) return failure("more time", "no reply in time");
  const reason = reasonOf(error);
  if (code !== status.UNAVAILABLE) return failure("none", reason);
  const [, advice] = tlsMistakes.find(([words]) => words.test(reason)) ?? [];
  if (advice !== undefined) return failure("other configuration", reason, advice);
  const wasConnected = !/No connection established|Name resolution|ECONNREFUSED|ENOTFOUND/.test(details);
  const isHinted = usesTls !== undefined && cutShort.test(reason);
  const hint = usesTls ? "if it does not use TLS, write http://" : "if it uses TLS, write https://";
  return failure(wasConnected ? "again soon" : "another member", reason, isHinted ? hint : undefined);
}

/** Returns why there is no connection, without the words of gRPC around it. */
function reasonOf({ details }: ServiceError): string {
  const [, reason = details] = /Last error: (.*?)(?:\. Resolution note: .*)?$/s.exec(details) ?? [];
  const words = reason.replace(/ \(\d{4}-[^)]*Z\)/g, "").replace(/^Error: /, "");
  return /:SSL routines:[^:]*:([^:]+):/.exec(words)?.[1] ?? (words.trim() || "no connection");
}
