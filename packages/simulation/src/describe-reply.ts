import type { AcquireReply, ExtendReply, NodeRequest, ReleaseReply } from "@holdfast/core";
import type { Remark } from "./timeline.ts";

/** The methods that a node is asked by. */
export type Method = "acquire" | "extend" | "release";

/** The attempt that asks. */
interface Asking {
  readonly name: string;
  readonly takesOver: string | undefined;
}

/** A request in words, after "asks A". */
export function describeRequest(method: Method, { resources }: NodeRequest, { name, takesOver }: Asking): string {
  if (method !== "acquire") return `to ${method} ${name}`;
  const handOver = takesOver === undefined ? "" : `, to take over from ${takesOver}`;
  return `for ${resources.join(" and ")}, ${name}${handOver}`;
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
  return { attempt, what: reply.released ? `freed ${attempt}` : `held nothing of ${attempt}` };
}
