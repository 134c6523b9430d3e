import type {
  AcquireReply,
  AcquireRequest,
  ExtendReply,
  NodeRequest,
  ReleaseReply,
  ReleaseRequest,
} from "@holdfast/core/node";
import type { ReplyOutcome } from "../history/trace.ts";
import type { Remark } from "./timeline.ts";

/** The methods of a node that send a request. */
export type Method = "acquire" | "extend" | "release";

/** The attempt that sends a request. */
interface Asking {
  readonly name: string;
  readonly takesOver: { readonly name: string } | undefined;
}

/** A request to any of the methods. */
export type Asked = NodeRequest & Pick<AcquireRequest & ReleaseRequest, "waiter" | "undo" | "takeover" | "shared">;

/** Describes a request, as a continuation of "asks A". */
export function describeRequest(
  method: Method,
  { resources, shared, waiter, undo }: Asked,
  { name, takesOver }: Asking,
): string {
  if (method === "release")
    return undo ? `to undo ${name}` : `to release ${name}${waiter ? ", and for a place in the waiting list" : ""}`;
  if (method === "extend") return `to extend ${name}`;
  const line = waiter === undefined ? "" : ", or for a place in the waiting list";
  const handOver = takesOver === undefined ? "" : `, to take over from ${takesOver.name}`;
  return `${shared ? "to share" : "for"} ${resources.join(" and ")}, ${name}${handOver}${line}`;
}

/** Describes a node's reply, in words that also fit the same reply from several nodes. */
export function describeReply(reply: AcquireReply | ExtendReply | ReleaseReply, attempt: string): Remark {
  if (typeof reply !== "object" || reply === null)
    return { attempt, what: `answered ${attempt} with ${String(reply)}` };
  if ("granted" in reply) {
    if (reply.granted) return { attempt, isGrant: true, what: `granted ${attempt}, fence ${reply.fence}` };
    const wait = reply.retryAfterMs === undefined ? "" : ` for ${Number(reply.retryAfterMs).toFixed(2)} ms more`;
    return { attempt, what: `denied ${attempt}: another owner held it${wait}` };
  }
  if ("held" in reply) {
    if (reply.held) return { attempt, isGrant: true, what: `kept ${attempt}, fence ${reply.fence}` };
    return { attempt, what: reply.rejoined ? `rejoined ${attempt}` : `did not hold ${attempt}` };
  }
  return {
    attempt,
    what: reply.released ? `freed ${attempt}${describeNext(reply.next, ";")}` : `had no claim of ${attempt}`,
  };
}

/** What a node's reply amounts to. */
export function outcomeOf(reply: AcquireReply | ExtendReply | ReleaseReply): ReplyOutcome {
  if (typeof reply !== "object" || reply === null) return "done";
  if ("granted" in reply) return reply.granted ? "granted" : "denied";
  if ("held" in reply) return reply.held ? "held" : reply.rejoined ? "rejoined" : "not held";
  return reply.released ? "released" : "no claim";
}

/** Describes the next waiter, if the node named one. */
export function describeNext(next: string | undefined, before: string): string {
  return next === undefined ? "" : `${before} ${next} is next`;
}
