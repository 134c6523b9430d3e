import type { AcquireReply, AcquireRequest, ReleaseReply, ReleaseRequest } from "@holdfast/core/node";
import { acquire } from "./acquire.ts";
import type { Claims } from "./lock-file.ts";
import { release } from "./release.ts";
import type { WaitingLists } from "./waiting-lists.ts";

/** Like {@link acquire}. If the request names a waiter, also updates the waiting lists. */
export function acquireOrWait(claims: Claims, lists: WaitingLists, request: AcquireRequest): AcquireReply {
  const reply = acquire(claims, request);
  const { resources, takeover, waiter } = request;
  if (waiter === undefined) return reply;
  for (const resource of resources) {
    const { owner, fence } = claims.read(resource);
    if (!reply.granted && owner !== null && owner !== takeover) {
      lists.add(resource, waiter, fence);
      continue;
    }
    lists.remove(resource, waiter);
    if (reply.granted) continue;
    // The waiter cannot use this resource alone, and may have been named for it: the next waiter may try.
    const next = lists.takeNext(resource);
    if (next !== undefined) claims.announce(resource, next);
  }
  return reply;
}

/** Like {@link release}. Also names the next waiter to the releasing process and to all watchers. */
export function releaseToNext(claims: Claims, lists: WaitingLists, request: ReleaseRequest): ReleaseReply {
  let named: string | undefined;
  const announce = (resource: string): void => {
    const next = lists.takeNext(resource, request.waiter);
    claims.announce(resource, next);
    named ??= next;
  };
  const reply = release({ ...claims, announce }, request);
  return named === undefined ? reply : { ...reply, next: named };
}
