import type { AcquireReply, ExtendReply, NodeRequest, ReleaseReply } from "@holdfast/core";
import type { Remark } from "./timeline.ts";

/** The methods that a node is asked by. */
export type Method = "acquire" | "extend" | "release";

/** A request in words, after "asks A". */
export function describeRequest(method: Method, { resources }: NodeRequest, attempt: string): string {
  if (method === "acquire") return `for ${resources.join(" and ")}, ${attempt}`;
  return `to ${method} ${attempt}`;
}

/** A node's answer in words. */
export function describeReply(reply: AcquireReply | ExtendReply | ReleaseReply, attempt: string): Remark {
  if ("granted" in reply) {
    if (reply.granted) return { attempt, isGrant: true, what: `grants ${attempt}, fence ${reply.fence}` };
    const wait = reply.retryAfterMs === undefined ? "" : ` for ${reply.retryAfterMs.toFixed(2)} ms more`;
    return { attempt, what: `denies ${attempt}: another owner holds it${wait}` };
  }
  if ("held" in reply) {
    if (reply.held) return { attempt, isGrant: true, what: `keeps ${attempt}, fence ${reply.fence}` };
    return { attempt, what: reply.rejoined ? `takes ${attempt} in again` : `does not hold ${attempt}` };
  }
  return { attempt, what: reply.released ? `frees ${attempt}` : `holds nothing of ${attempt}` };
}
