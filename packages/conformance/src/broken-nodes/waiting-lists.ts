import type { AcquireReply, AcquireRequest, LockNode } from "@holdfast/core/node";
import { type BrokenNode, brokenIf, on } from "./broken-node.ts";

/**
 * Names another waiter where the correct node names one.
 *
 * @param choose picks one of a list's waiters, which are in the order of their denials, one entry for each denial since
 * the waiter was named or granted
 */
function choosing(
  node: LockNode,
  choose: (denials: readonly string[]) => string | undefined,
  listOf: (resource: string) => string = (resource) => resource,
): Partial<LockNode> {
  const lists = new Map<string, readonly string[]>();
  const change = (resource: string, by: (list: readonly string[]) => readonly string[]): void =>
    void lists.set(listOf(resource), by(lists.get(listOf(resource)) ?? []));
  return {
    async acquire(request) {
      const reply = await node.acquire(request);
      const { resources, waiter } = request;
      for (const resource of waiter === undefined ? [] : resources) {
        change(resource, (list) => (reply.granted ? list.filter((each) => each !== waiter) : [...list, `${waiter}`]));
      }
      return reply;
    },
    async release(request) {
      const reply = await node.release(request);
      const [resource] = request.resources as [string];
      const next = reply.next && choose(lists.get(listOf(resource)) ?? []);
      if (next === undefined) return reply;
      change(resource, (list) => list.filter((each) => each !== next));
      return { ...reply, next };
    },
  };
}

/** A waiter, if there is one. */
type Maybe = string | undefined;

/** Names one waiter more: notes one at a release, and names it at the next release that would name none. */
function namingLater(node: LockNode, note: (next: Maybe, waiter: Maybe, before: Maybe) => Maybe) {
  const noted = new Map<string, Maybe>();
  return {
    async release(request) {
      const [resource] = request.resources as [string];
      const before = noted.get(resource);
      const reply = await node.release(request);
      noted.set(resource, note(reply.next, request.waiter, before));
      return reply.next === undefined && before !== undefined && !request.undo ? { ...reply, next: before } : reply;
    },
  } satisfies Partial<LockNode>;
}

/**
 * Replaces the denial of a claim with a waiter on several resources, some of which are held.
 *
 * @param deny gets the resources that any owner holds, and those that are free
 */
function denying(
  node: LockNode,
  deny: (request: AcquireRequest, held: readonly string[], free: readonly string[]) => Promise<AcquireReply>,
): Partial<LockNode> {
  return {
    async acquire(request) {
      const { waiter, takeover: _, ...silent } = request;
      if (waiter === undefined || request.resources.length === 1) return node.acquire(request);
      const probe = { ...silent, owner: crypto.randomUUID() };
      const [held, free]: [string[], string[]] = [[], []];
      for (const resource of request.resources) {
        const { granted } = await node.acquire({ ...probe, resources: [resource] });
        (granted ? free : held).push(resource);
      }
      await node.release({ ...probe, undo: true });
      return held.length === 0 ? node.acquire(request) : deny(request, held, free);
    },
  };
}

/** Adds the waiter of a request to the lists of these resources, or removes it from the lists of free ones. */
async function enterOrLeave(node: LockNode, request: AcquireRequest, resources: readonly string[], enters: boolean) {
  const { waiter: _, takeover: __, ...silent } = request;
  const freshClaim = (resource: string) => ({ ...silent, owner: crypto.randomUUID(), resources: [resource] });
  const waiting = { waiter: request.waiter as string };
  for (const resource of resources) {
    const claim = freshClaim(resource);
    await node.acquire(enters ? claim : { ...claim, ...waiting });
    if (enters) await node.acquire({ ...freshClaim(resource), ...waiting });
    await node.release({ ...claim, undo: true });
  }
}

/** Faults of waiting lists. */
export const brokenWaitingLists: readonly BrokenNode[] = [
  ...brokenIf(["waitingLists"], {
    "release() with a waiter that is in the list already keeps it there once": {
      "adds the waiter of a release to the list although it is there already": (node) =>
        namingLater(node, (next, waiter, before) => (next === undefined ? before : (waiter ?? before))),
    },
    "release() names waiters in the order of the fence counters at which they joined, each once": {
      "names the latest waiter first": (node) => choosing(node, (denials) => denials.at(-1)),
      "names waiters in the order of their values instead of their arrival": (node) =>
        choosing(node, (denials) => [...denials].sort()[0]),
      "names a waiter twice": (node) => namingLater(node, (next) => next),
    },
    "release() names waiters that joined at the same fence counter in ascending order": {
      "names waiters that joined at the same fence counter in the order of their arrival": (node) =>
        choosing(node, (denials) => denials[0]),
    },
    "acquire() denied again keeps its waiter's place in the waiting list": {
      "moves a waiter to the end of the waiting list when it is denied again": (node) =>
        choosing(node, (denials) => [...new Set([...denials].reverse())].at(-1)),
    },
    "acquire() that is granted removes its waiter from the waiting list, and no other": {
      "names a waiter that was granted": on("acquire", async ({ waiter, ...request }, node) => {
        const reply = await node.acquire(request);
        return reply.granted || waiter === undefined ? reply : node.acquire({ ...request, waiter });
      }),
    },
    "release() with a waiter puts it behind all others, and ahead of later ones": {
      "puts the waiter of a release ahead of all others": (node) => {
        const first = new Map<string, string>();
        return {
          async release({ waiter, ...request }) {
            const [resource] = request.resources as [string];
            const next = request.undo ? undefined : first.get(resource);
            // With undo, the waiter that the correct node would name stays in the list.
            const reply = await node.release(next === undefined ? request : { ...request, undo: true });
            if (next !== undefined) first.delete(resource);
            if (waiter !== undefined && reply.next !== undefined) first.set(resource, waiter);
            return next === undefined ? reply : { ...reply, next };
          },
        };
      },
    },
    "release() with a waiter does not add it to an empty waiting list": {
      "adds the waiter of a release to an empty waiting list": (node) => namingLater(node, (_, waiter) => waiter),
    },
    "release() names a waiter of that resource, and does not change the waiting lists of others": {
      "keeps one waiting list for all resources": (node) =>
        choosing(
          node,
          (denials) => denials[0],
          () => "all",
        ),
    },
    "release() of several resources removes the first waiter from the list of each, and names one of them": {
      "reads only the waiting list of the first of several resources": on(
        "release",
        async ({ resources, ...request }, node) => {
          const [first, ...others] = resources as [string];
          const reply = await node.release({ ...request, resources: [first] });
          if (others.length === 0) return reply;
          const { released } = await node.release({ ...request, resources: others, undo: true });
          return { ...reply, released: released || reply.released };
        },
      ),
    },
    "release() names waiters exactly as they were given": {
      "folds the case of waiters": on("acquire", (request, node) =>
        node.acquire(request.waiter === undefined ? request : { ...request, waiter: request.waiter.toLowerCase() }),
      ),
    },
    "acquire() denied on several resources adds its waiter to the list of each that is held, and to no other": {
      "also adds the waiter of a denied claim to the lists of free resources": (node) =>
        denying(node, async (request, _, free) => {
          const reply = await node.acquire(request);
          await enterOrLeave(node, request, free, true);
          return reply;
        }),
    },
    "acquire() denied on several resources does not add its waiter to the list of a resource that it may take over": {
      "adds the waiter of a denied claim to the list of a resource that it may take over": (node) =>
        denying(node, async (request, held) => {
          const reply = await node.acquire(request);
          if (!reply.granted) await enterOrLeave(node, request, held, true);
          return reply;
        }),
    },
    "acquire() denied on several resources keeps its waiter's place in the lists of those that are held": {
      "gives the waiter of a denied claim on several resources a second place in the list": (node) => ({
        acquire({ waiter, ...request }) {
          if (waiter === undefined) return node.acquire(request);
          return node.acquire({ ...request, waiter: request.resources.length > 1 ? `${waiter} again` : waiter });
        },
        async release(request) {
          const { next, ...reply } = await node.release(request);
          return next === undefined ? reply : { ...reply, next: next.replace(/ again$/, "") };
        },
      }),
    },
    "acquire() denied on several resources removes its waiter, and then the next, from the lists of the others": {
      "keeps the waiter of a denied claim in the lists of the free resources": (node) =>
        denying(node, (request, held) => node.acquire({ ...request, resources: held })),
      "names no waiter in place of the one that it removes from the list of a free resource": (node) =>
        denying(node, async (request, held, free) => {
          await enterOrLeave(node, request, free, false);
          return node.acquire({ ...request, resources: held });
        }),
    },
    "acquire() denied on several resources without a waiter does not change the waiting lists": {
      "adds every denied owner to the waiting lists": on("acquire", (request, node) =>
        node.acquire({ waiter: request.owner, ...request }),
      ),
    },
    "acquire() grants a free resource to any client, whichever waiter is next": {
      "denies a free resource because another waiter is next": (node) => {
        const nexts = new Map<string, string | undefined>();
        return {
          async acquire(request) {
            const next = nexts.get(request.resources[0] as string);
            return next === undefined || next === request.waiter ? node.acquire(request) : { granted: false };
          },
          async release(request) {
            const reply = await node.release(request);
            nexts.set(request.resources[0] as string, reply.next);
            return reply;
          },
        };
      },
    },
    "release() with undo names no waiter, and does not change the waiting list": {
      "names a waiter at a release with undo": on("release", ({ undo: _, ...request }, node) => node.release(request)),
    },
  }),
  ...brokenIf(["waitingLists", "watch"], {
    "watch() names the next waiter of a free resource when a claim on it and on a held one is denied": {
      "notifies watchers only of waiters that a release names": (node) => {
        const named = new Set<string>();
        return {
          async release(request) {
            const reply = await node.release(request);
            if (reply.next !== undefined) named.add(reply.next);
            return reply;
          },
          watch: (resources, onReleased) =>
            node.watch(resources, (resource, next) => {
              if (next === undefined || named.has(next)) onReleased(resource, next);
            }),
        };
      },
    },
    "watch() names the same waiters as the replies of release(), for each resource, and no others": {
      "names a waiter in the reply, but not to watchers": (node) => ({
        watch: (resources, onReleased) => node.watch(resources, (resource) => onReleased(resource)),
      }),
      "names a different waiter to watchers than in the reply": (node) => {
        let before: string | undefined;
        return {
          watch: (resources, onReleased) =>
            node.watch(resources, (resource, next) => {
              onReleased(resource, before);
              before = next;
            }),
        };
      },
    },
  }),
];
