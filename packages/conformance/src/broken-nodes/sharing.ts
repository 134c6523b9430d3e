import { setImmediate } from "node:timers/promises";
import type { AcquireReply, AcquireRequest, LockNode, Sharer } from "@holdfast/core/node";
import { shared } from "../world/client.ts";
import { longMs } from "../world/durations.ts";
import {
  type BrokenNode,
  broken,
  brokenIf,
  claimAgain,
  claimEach,
  on,
  rejoinEach,
  releasingSent,
  withDenials,
  withGrants,
} from "./broken-node.ts";

/** Returns the owners that share a resource; none if it is free or held exclusively. */
async function sharersOf(node: Required<LockNode>, resource: string): Promise<readonly Sharer[]> {
  return (await node.inspect(resource)).sharers ?? [];
}

/** Returns those of the sharers of a resource that are not this owner. */
async function othersOn(node: Required<LockNode>, resource: string, owner: string): Promise<readonly string[]> {
  const owners = (await sharersOf(node, resource)).map((sharer) => sharer.owner);
  return owners.filter((each) => each !== owner);
}

/** Whether a request would share every one of its resources with others, only some, or none. */
async function joinOf(
  node: Required<LockNode>,
  { resources, owner }: Pick<AcquireRequest, "resources" | "owner">,
): Promise<"all" | "some" | "none"> {
  const others = await Promise.all(resources.map((resource) => othersOn(node, resource, owner)));
  const joined = others.filter(({ length }) => length > 0).length;
  return joined === resources.length ? "all" : joined > 0 ? "some" : "none";
}

/** Changes the replies to requests for shared claims that were granted. `join` tells whom the claim joined. */
function withSharedGrants(
  node: Required<LockNode>,
  change: (fence: number, request: AcquireRequest, join: "all" | "some" | "none") => number | Promise<number>,
): Pick<LockNode, "acquire"> {
  return {
    async acquire(request) {
      if (!request.shared) return node.acquire(request);
      const join = await joinOf(node, request);
      const reply = await node.acquire(request);
      return reply.granted ? { ...reply, fence: await change(reply.fence, request, join) } : reply;
    },
  };
}

/** Grants some of the requests that the node denies. */
function grantingDenied(
  node: Required<LockNode>,
  isGranted: (request: AcquireRequest) => boolean | Promise<boolean>,
): Pick<LockNode, "acquire"> {
  return withDenials(node, async (denial, request): Promise<AcquireReply> => {
    if (!(await isGranted(request))) return denial;
    const views = await Promise.all(request.resources.map((resource) => node.inspect(resource)));
    return { granted: true, fence: Math.max(...views.map(({ fence }) => fence)) };
  });
}

/** Does something for every other sharer when a shared claim was granted. */
function touchingOthers(
  node: Required<LockNode>,
  touch: (other: AcquireRequest, request: AcquireRequest) => Promise<unknown>,
): Pick<LockNode, "acquire"> {
  return withSharedGrants(node, async (fence, request) => {
    for (const resource of request.resources) {
      const { takeover: _, ...claim } = request;
      for (const owner of await othersOn(node, resource, request.owner)) {
        await touch({ ...claim, owner, resources: [resource] }, request);
      }
    }
    return fence;
  });
}

/** Faults in shared claims, for nodes that do not declare that they ignore `shared`. */
export const brokenSharing: readonly BrokenNode[] = [
  ...broken({
    "acquire() of a shared claim joins those of other owners, through either client": {
      "ignores `shared`, and does not declare it": (node) => ({
        acquire: ({ shared: _, ...request }) => node.acquire(request),
        extend: ({ shared: _, ...request }) => node.extend(request),
      }),
    },
    "acquire() of a shared claim is denied while another owner holds the resource alone, and changes nothing": {
      "shares a claim whose request has `shared: false`": on("acquire", (request, node) =>
        node.acquire("shared" in request ? { ...request, ...shared } : request),
      ),
    },
    "acquire() of a shared claim on several resources denies and changes nothing while any is held alone": {
      "claims several shared resources one by one, and keeps the first if a later one is held alone": on(
        "acquire",
        (request, node) => (request.shared ? claimEach(request, node) : node.acquire(request)),
      ),
    },
    "acquire() that joins sharers on every one of several resources sets each counter to the highest": {
      "shares only the first of several resources": on("acquire", (request, node) =>
        node.acquire(request.shared ? { ...request, resources: request.resources.slice(0, 1) } : request),
      ),
    },
    "acquire() grants all of many shared claims sent at once, with one fence": {
      "loses a shared claim if two are sent at once": (node) => {
        let inFlight = 0;
        return {
          async acquire(request) {
            if (!request.shared) return node.acquire(request);
            inFlight++;
            await setImmediate();
            const reply = await node.acquire(request);
            if (inFlight-- > 1 && reply.granted) await node.release(request);
            return reply;
          },
        };
      },
    },
    "acquire() and release() of one sharer sent at once take effect in either order, as their replies say": {
      "reports that it released a shared claim whose acquire it has only just sent": (node) =>
        releasingSent(node, true),
    },
    "extend() of a shared claim with less than its remaining ttl does not shorten it": {
      "shortens a shared claim to the ttl of its extension": on("extend", async (request, node) => {
        const reply = await node.extend(request);
        if (reply.held && request.shared) await claimAgain(request, node);
        return reply;
      }),
    },
    "a shared claim that has expired counts no longer, while another one lasts": {
      "reports that it released a shared claim that has expired": (node) => {
        const open = new Set<string>();
        return {
          async acquire(request) {
            if (request.shared) open.add(request.owner);
            return node.acquire(request);
          },
          async release(request) {
            const { released } = await node.release(request);
            return { released: open.delete(request.owner) || released };
          },
        };
      },
    },
    "extend() with rejoin of a shared claim advances the counter if it joins nobody, and others can join it": {
      "does not advance the counter for a rejoined shared claim that joins nobody": (node) => {
        let behind = 0;
        return {
          ...withGrants(node, (fence) => Math.max(1, fence - behind)),
          async extend(request) {
            const reply = await node.extend(request);
            if (!reply.held && reply.rejoined && request.shared) behind = 1;
            return reply;
          },
        };
      },
    },
    "extend() with rejoin of a shared claim joins the sharers, and raises the counter no further than its fence": {
      "returns rejoined for a shared claim that is held": on("extend", async (request, node) => {
        const reply = await node.extend(request);
        return reply.held && request.shared && request.rejoin ? { held: false, rejoined: true } : reply;
      }),
    },
    "extend() with rejoin changes nothing while another owner holds the resource and either claim is exclusive": {
      "rejoins an exclusive claim while others share the resource": on("extend", (request, node) =>
        node.extend(request.rejoin ? { ...request, ...shared } : request),
      ),
    },
    "acquire() with takeover passes one of several shared claims on, and leaves the counter and the others alone": {
      "keeps the claim of a sharer that another one takes over": on("acquire", ({ takeover, ...request }, node) => {
        return node.acquire(takeover === undefined || request.shared ? request : { ...request, takeover });
      }),
    },
    "acquire() denied by sharers gives the wait for the one that lasts longest and its owner, if it gives any": {
      "names the sharer that may be taken over as the holder": (node) =>
        withDenials(node, (denial, { takeover }) => ({
          ...denial,
          ...(takeover !== undefined && { holder: takeover }),
        })),
      "names the mark of shared claims in its store as the holder": (node) =>
        withDenials(node, (denial) => ({ ...denial, holder: "shared" })),
    },
  }),
  ...brokenIf(["inspect"], {
    "acquire() of a shared claim is denied while another owner holds the resource alone, and changes nothing": {
      "lets a shared claim join an exclusive one": (node) => grantingDenied(node, (request) => request.shared === true),
    },
    "acquire() of an exclusive claim is denied until the last sharer has released, and changes nothing": {
      "grants an exclusive claim while others share the resource": (node) =>
        grantingDenied(node, async ({ resources, owner, shared: isShared }) => {
          return !isShared && (await joinOf(node, { resources, owner })) === "all";
        }),
    },
    "acquire() of an exclusive claim on several resources denies and changes nothing while any is shared": {
      "looks for sharers of the first of several resources only": (node) =>
        grantingDenied(node, async ({ resources, shared: isShared }) => {
          return !isShared && resources.length > 1 && (await node.inspect(resources[0] as string)).owner === null;
        }),
    },
    "acquire() of a shared claim resent grants again with the counter, and is still one claim": {
      "counts a shared request that is sent again as another sharer": on("acquire", async (request, node) => {
        const sharers = await sharersOf(node, request.resources[0] as string);
        const isAgain = sharers.some(({ owner }) => owner === request.owner);
        if (isAgain && sharers.length > 1) await node.acquire({ ...request, owner: `${request.owner}, again` });
        return node.acquire(request);
      }),
    },
    "acquire() of a shared claim resent neither prolongs nor shortens it": {
      "sets the ttl again for a shared request that is sent again": on("acquire", async (request, node) => {
        const sharers = await sharersOf(node, request.resources[0] as string);
        if (sharers.some(({ owner }) => owner === request.owner)) await node.release(request);
        return node.acquire(request);
      }),
    },
    "acquire() grants one exclusive claim or only shared ones of many sent at once": {
      "looks for an exclusive claim, and shares the resource in a second step": on("acquire", async (request, node) => {
        if (!request.shared) return node.acquire(request);
        const { owner, sharers, fence } = await node.inspect(request.resources[0] as string);
        const isOpen = owner === null || sharers !== undefined;
        await setImmediate();
        const reply = await node.acquire(request);
        return reply.granted || !isOpen ? reply : { granted: true, fence: Math.max(1, fence) };
      }),
    },
    "acquire() and release() exclude concurrent writers from all others, and keep fences in order": {
      "looks for sharers, and claims the resource alone in a second step": on("acquire", async (request, node) => {
        if (request.shared) return node.acquire(request);
        const { owner, fence } = await node.inspect(request.resources[0] as string);
        await setImmediate();
        const reply = await node.acquire(request);
        return reply.granted || owner !== null ? reply : { granted: true, fence: fence + 1 };
      }),
    },
    "acquire() of a shared claim advances the counter if it joins nobody, as any grant does": {
      "never advances the counter for a shared claim": (node) =>
        withSharedGrants(node, (fence, _, join) => (join === "none" ? Math.max(1, fence - 1) : fence)),
    },
    "acquire() of a shared claim that joins leaves the counter alone, whatever its hint": {
      "raises the counter to the hint of a claim that joins": (node) =>
        withSharedGrants(node, async (fence, request, join) => {
          if (join === "none") return fence;
          const reply = await node.extend({ ...request, fence: Math.max(fence, request.fenceHint), rejoin: false });
          return reply.held ? reply.fence : fence;
        }),
    },
    "extend() of one shared claim raises the counter for all sharers, and for all later claims": {
      "keeps a counter for each sharer": (node) => {
        const first = new Map<string, number>();
        return withSharedGrants(node, (fence, { resources }, join) => {
          const [resource] = resources as [string];
          if (join === "none") first.set(resource, fence);
          return first.get(resource) ?? fence;
        });
      },
    },
    "acquire() that joins sharers on only some of several resources advances the counter of each": {
      "does not advance the counters of several resources if a claim joins on some of them": (node) =>
        withSharedGrants(node, (fence, _, join) => (join === "some" ? fence - 1 : fence)),
    },
    "extend() of a shared claim prolongs that claim and no other": {
      "prolongs the claims of all sharers to the ttl of the one that joins": (node) =>
        touchingOthers(node, (other, { ttlMs }) => node.extend({ ...other, ttlMs, fence: 1, rejoin: false })),
    },
    "extend() without rejoin of a resource that only others share changes nothing": {
      "makes a claim for any owner that extends a shared resource": on("extend", async (request, node) => {
        if ((await joinOf(node, request)) === "all") await node.acquire({ ...request, ...shared, fenceHint: 1 });
        return node.extend(request);
      }),
    },
    "release() of one shared claim leaves the others, and keeps the counter": {
      "ends all shared claims with the first release": on("release", async (request, node) => {
        const others = await othersOn(node, request.resources[0] as string, request.owner);
        const reply = await node.release(request);
        if (reply.released) for (const owner of others) await node.release({ ...request, owner });
        return reply;
      }),
    },
    "release() of several resources ends the owner's claims, and leaves the other sharers of each": {
      "releases only resources that the owner shares with nobody": on("release", async (request, node) => {
        const others = await Promise.all(request.resources.map((each) => othersOn(node, each, request.owner)));
        const resources = request.resources.filter((_, index) => others[index]?.length === 0);
        return node.release({ ...request, resources: resources.length > 0 ? resources : request.resources });
      }),
    },
    "shared claims last until the last of them ends, and then the resource is free": {
      "ends all shared claims with the first one that expires": on("acquire", async (request, node) => {
        const sharers = await sharersOf(node, request.resources[0] as string);
        const leastMs = Math.min(request.ttlMs, ...sharers.map(({ remainingMs }) => Math.ceil(remainingMs) || 1));
        return node.acquire(request.shared ? { ...request, ttlMs: leastMs } : request);
      }),
    },
    "a shared claim outlasts a shorter one that joins, is extended, expires or is released": {
      "shortens the claims of all sharers to the ttl of the one that joins": (node) =>
        touchingOthers(node, async (other) => {
          await node.release(other);
          await node.acquire(other);
        }),
    },
    "a resource is free when its last shared claim ends, although a longer one was released": {
      "keeps a shared resource for the longest ttl of any sharer, even if that one was released": on(
        "release",
        async (request, node) => {
          const reply = await node.release(request);
          const [resource] = request.resources as [string];
          for (const owner of await othersOn(node, resource, request.owner)) {
            await node.extend({ ...request, ...shared, owner, ttlMs: longMs, fence: 1, rejoin: false });
          }
          return reply;
        },
      ),
    },
    "extend() with rejoin of a shared claim joins the sharers, and raises the counter no further than its fence": {
      "rejoins a shared claim only if the resource is free": on("extend", async (request, node) => {
        const isFree = (await joinOf(node, request)) === "none";
        return node.extend({ ...request, rejoin: request.rejoin && isFree });
      }),
      "advances the counter for a rejoined claim that joins others": on("extend", async (request, node) => {
        const { fence } = await node.inspect(request.resources[0] as string);
        const join = await joinOf(node, request);
        const reply = await node.extend(request);
        if (!reply.held && reply.rejoined && join === "all") await node.extend({ ...request, fence: fence + 1 });
        return reply;
      }),
    },
    "extend() with rejoin of shared claims on several resources joins other owners only, and not the owner's own claim":
      {
        "counts a rejoining owner's own claim as one that it joins": on("extend", async (request, node) => {
          const reply = await node.extend({ ...request, rejoin: false });
          if (reply.held || !request.rejoin) return reply;
          const sharers = await Promise.all(request.resources.map((resource) => sharersOf(node, resource)));
          return sharers.some(({ length }) => length === 0) ? node.extend(request) : rejoinEach(request, node);
        }),
      },
    "acquire() with takeover of an exclusive claim is denied and changes nothing while another owner shares": {
      "makes a claim exclusive although another owner shares the resource": on("acquire", async (request, node) => {
        const { takeover, resources } = request;
        const sharers = await sharersOf(node, resources[0] as string);
        if (sharers.some(({ owner }) => owner === takeover) && !request.shared) {
          for (const { owner } of sharers) if (owner !== takeover) await node.release({ ...request, owner });
        }
        return node.acquire(request);
      }),
    },
    "acquire() with takeover makes an exclusive claim shared, and advances the counter": {
      "keeps a claim exclusive that a shared one takes over": on("acquire", async (request, node) => {
        const { owner, sharers } = await node.inspect(request.resources[0] as string);
        const isAlone = owner !== null && sharers === undefined && owner === request.takeover;
        const { shared: _, ...exclusive } = request;
        return node.acquire(isAlone ? exclusive : request);
      }),
    },
    "acquire() with takeover passes the only shared claim on to a sharer, and never lowers the counter": {
      "denies a shared claim that takes over the only sharer": on("acquire", async (request, node) => {
        const others = await othersOn(node, request.resources[0] as string, request.owner);
        const isOnly = request.shared && others.length === 1 && others[0] === request.takeover;
        return isOnly ? { granted: false } : node.acquire(request);
      }),
    },
    "acquire() with takeover of a shared claim joins sharers that it does not replace": {
      "denies a shared claim with a takeover of an owner that does not share": on("acquire", async (request, node) => {
        const { takeover, resources, owner } = request;
        const others = await othersOn(node, resources[0] as string, owner);
        const isStranger = takeover !== undefined && others.length > 0 && !others.includes(takeover);
        return isStranger ? { granted: false } : node.acquire(request);
      }),
    },
    "acquire() with takeover of several resources is denied while another owner shares any of them": {
      "looks for other sharers of the first of several resources only when it takes over": on(
        "acquire",
        async (request, node) => {
          const { takeover, resources } = request;
          for (const resource of takeover === undefined ? [] : resources.slice(1)) {
            const others = await othersOn(node, resource, takeover as string);
            for (const owner of others) await node.release({ ...request, resources: [resource], owner });
          }
          return node.acquire(request);
        },
      ),
    },
    "acquire() denied by sharers gives the wait for the one that lasts longest and its owner, if it gives any": {
      "gives the wait for the sharer that ends first": (node) =>
        withDenials(node, async (denial, { resources }) => {
          const sharers = await sharersOf(node, resources[0] as string);
          return { ...denial, retryAfterMs: Math.min(...sharers.map(({ remainingMs }) => remainingMs)) };
        }),
    },
    "inspect() lists no sharer that has released or expired": {
      "shows no sharers": on("inspect", async (resource, node) => {
        const { sharers: _, ...view } = await node.inspect(resource);
        return view;
      }),
    },
    "inspect() lists the sharers and their remaining times, and names the one that lasts longest as the owner": {
      "shows the sharer that ends first as the owner": on("inspect", async (resource, node) => {
        const view = await node.inspect(resource);
        const [first] = [...(view.sharers ?? [])].sort((a, b) => a.remainingMs - b.remainingMs);
        return { ...view, ...first };
      }),
    },
    "inspect() lists at least the hundred sharers that last longest": {
      "shows the first ten sharers": on("inspect", async (resource, node) => {
        const view = await node.inspect(resource);
        if (view.sharers === undefined) return view;
        const [owner, ...others] = [...view.sharers].sort((a, b) => b.remainingMs - a.remainingMs);
        return { ...view, ...owner, sharers: [owner as Sharer, ...others.slice(0, 9)] };
      }),
    },
  }),
  ...brokenIf(["inspect", "ownCounters"], {
    "acquire() of several resources is uniform only if they have one counter, also when it is resent": {
      "calls each grant of several resources uniform": on("acquire", async (request, node) => {
        const reply = await node.acquire(request);
        return reply.granted ? { ...reply, uniform: true } : reply;
      }),
    },
    "acquire() that joins sharers on every one of several resources sets each counter to the highest": {
      "leaves the counters of several resources as they are when a claim joins on all of them": on(
        "acquire",
        async (request, node) => {
          const joinsAll = request.shared && (await joinOf(node, request)) === "all";
          return joinsAll ? claimEach(request, node) : node.acquire(request);
        },
      ),
    },
  }),
  ...brokenIf(["ownCounters"], {
    "extend() of shared claims on several resources raises each counter, and needs a claim on each": {
      "extends a shared claim on the first of several resources only": on("extend", (request, node) =>
        node.extend(request.shared ? { ...request, resources: request.resources.slice(0, 1) } : request),
      ),
    },
    "extend() with rejoin of a shared claim that joins on only some of several resources advances each counter": {
      "rejoins several shared claims one by one": on("extend", async (request, node) => {
        const reply = await node.extend({ ...request, rejoin: false });
        return reply.held || !request.rejoin ? reply : rejoinEach(request, node);
      }),
    },
  }),
];
