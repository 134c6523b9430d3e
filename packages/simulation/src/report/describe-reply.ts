import type {
  AcquireReply,
  AcquireRequest,
  ExtendReply,
  NodeRequest,
  ReleaseReply,
  ReleaseRequest,
} from "@holdfast/core";
import type { Remark } from "./timeline.ts";

/** The methods that a node is asked by. */
export type Method = "acquire" | "extend" | "release";

/** The attempt that asks. */
interface Asking {
  readonly name: string;
  readonly takesOver: { readonly name: string } | undefined;
}

/** What is asked, by whatever method. */
export type Asked = NodeRequest & Pick<AcquireRequest & ReleaseRequest, "waiter" | "undo" | "takeover">;

/** A request in words, after "asks A". */
export function describeRequest(
  method: Method,
  { resources, waiter, undo }: Asked,
  { name, takesOver }: Asking,
): string {
  if (method === "release")
    return undo ? `to undo ${name}` : `to release ${name}${waiter ? ", and for a place in line" : ""}`;
  if (method === "extend") return `to extend ${name}`;
  const line = waiter === undefined ? "" : ", or for a place in line";
  const handOver = takesOver === undefined ? "" : `, to take over from ${takesOver.name}`;
  return `for ${resources.join(" and ")}, ${name}${handOver}${line}`;
}

/** A node's answer in words, which also stand for the same answer of several nodes. */
export function describeReply(reply: AcquireReply | ExtendReply | ReleaseReply, attempt: string): Remark {
  if (typeof reply !== "object" || reply === null) return { attempt, what: `answered ${attempt} by ${String(reply)}` };
  if ("granted" in reply) {
    if (reply.granted) return { attempt, isGrant: true, what: `granted ${attempt}, fence ${reply.fence}` };
    const wait = reply.retryAfterMs === undefined ? "" : ` for ${Number(reply.retryAfterMs).toFixed(2)} ms more`;
    return { attempt, what: `denied ${attempt}: another owner held it${wait}` };
  }
  if ("held" in reply) {
    if (reply.held) return { attempt, isGrant: true, what: `kept ${attempt}, fence ${reply.fence}` };
    return { attempt, what: reply.rejoined ? `took ${attempt} in again` : `did not hold ${attempt}` };
  }
  return {
    attempt,
    what: reply.released ? `freed ${attempt}${describeNext(reply.next, ";")}` : `held nothing of ${attempt}`,
  };
}

/** Whose turn it is, if a node has named somebody. */
export function describeNext(next: string | undefined, before: string): string {
  return next === undefined ? "" : `${before} ${next} is next`;
}
