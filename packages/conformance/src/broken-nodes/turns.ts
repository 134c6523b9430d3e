import type { LockNode } from "@holdfast/core/node";
import { shared } from "../world/client.ts";
import { type BrokenNode, brokenIf, on } from "./broken-node.ts";

/** Whether others than this owner share the resource. */
async function isShared(node: Required<LockNode>, resource: string, owner?: string): Promise<boolean> {
  const { sharers = [] } = await node.inspect(resource);
  return sharers.some((sharer) => sharer.owner !== owner);
}

/**
 * Denies further sharers of a resource for `durationMs` after an exclusive request with a waiter was denied.
 *
 * @param afterAny whether it does so even if the denied request met an exclusive claim
 */
function favouring(
  node: Required<LockNode>,
  elapsedMs: () => number,
  durationMs: number,
  afterAny = false,
): Partial<LockNode> {
  const favouredUntil = new Map<string, number>();
  return {
    async acquire(request) {
      const [resource] = request.resources as [string];
      const joins = await isShared(node, resource, request.owner);
      if (request.shared && joins && elapsedMs() < (favouredUntil.get(resource) ?? 0)) return { granted: false };
      const reply = await node.acquire(request);
      const isDenied = !reply.granted && !request.shared && request.waiter !== undefined && (joins || afterAny);
      if (isDenied) favouredUntil.set(resource, elapsedMs() + durationMs);
      return reply;
    },
  };
}

/** Faults in the turns of readers and writers, for nodes that keep waiting lists. */
export const brokenTurns: readonly BrokenNode[] = [
  ...brokenIf(["waitingLists"], {
    "release() names waiters of shared requests before exclusive ones that joined earlier": {
      "keeps all waiters in one order, and ignores that some wait to share": on("acquire", async (request, node) => {
        const { waiter, shared: _, ...exclusive } = request;
        if (!request.shared || waiter === undefined) return node.acquire(request);
        const reply = await node.acquire({ ...exclusive, ...shared });
        if (!reply.granted) await node.acquire({ ...exclusive, waiter });
        return reply;
      }),
    },
    "acquire() treats waiters of shared and of exclusive requests as different, even with one value": {
      "keeps one entry for a waiter that waits both to share a resource and to hold it alone": (node) => {
        const kinds = new Map<string, boolean>();
        return {
          async acquire({ waiter, ...request }) {
            const entry = `${request.resources}: ${waiter}`;
            const kind = kinds.get(entry) ?? request.shared === true;
            const isOther = waiter !== undefined && kind !== (request.shared === true);
            const reply = await node.acquire(isOther || waiter === undefined ? request : { ...request, waiter });
            if (!reply.granted) kinds.set(entry, kind);
            return reply;
          },
        };
      },
    },
    "acquire() denied on several resources removes all waiters of shared requests from the lists of free ones": {
      "names one waiter of a shared request when a denial frees its list": on("acquire", async (request, node) => {
        const reply = await node.acquire(request);
        if (reply.granted || request.resources.length === 1) return reply;
        const claim = { ...request, resources: request.resources.slice(0, 1), owner: crypto.randomUUID() };
        const { waiter: _, shared: __, ...alone } = claim;
        await node.acquire(alone);
        await node.acquire({ ...claim, ...shared, owner: crypto.randomUUID(), waiter: "D" });
        await node.release({ ...alone, undo: true });
        return reply;
      }),
    },
    "acquire() of a shared claim does not join once an exclusive request with a waiter was denied": {
      "lets readers join while a writer waits": on("acquire", async ({ waiter, ...request }, node) => {
        return node.acquire(request.shared && waiter !== undefined ? { ...request, waiter } : request);
      }),
    },
    "acquire() with takeover of a shared claim is denied likewise, so that sharers do not hand over forever": {
      "lets readers hand over while a writer waits": on("acquire", async ({ takeover, ...request }, node) => {
        const reply = await node.acquire(takeover === undefined ? request : { ...request, takeover });
        if (reply.granted || !request.shared || takeover === undefined) return reply;
        await node.release({ ...request, owner: takeover, undo: true });
        return node.acquire(request);
      }),
    },
  }),
  ...brokenIf(["inspect", "waitingLists"], {
    "release() of the last shared claim names the first exclusive waiter before waiters of shared requests": {
      "names waiters of shared requests first even after sharers": on("release", async (request, node) => {
        const { sharers } = await node.inspect(request.resources[0] as string);
        if (sharers?.length !== 1 || request.undo) return node.release(request);
        const { released } = await node.release({ ...request, undo: true });
        const { waiter: _, ...claim } = { ...request, owner: crypto.randomUUID(), ttlMs: 10_000, fenceHint: 1 };
        await node.acquire(claim);
        return { ...(await node.release({ ...request, owner: claim.owner })), released };
      }),
    },
    "release() of the last shared claim names waiters of shared requests if nobody else waits": {
      "names nobody after sharers if only waiters of shared requests are left": (node) => {
        const readers = new Set<string>();
        return {
          async acquire(request) {
            if (request.shared && request.waiter !== undefined) readers.add(request.waiter);
            return node.acquire(request);
          },
          async release(request) {
            const wasShared = await isShared(node, request.resources[0] as string);
            const { next, ...reply } = await node.release(request);
            return next === undefined || (wasShared && readers.has(next)) ? reply : { ...reply, next };
          },
        };
      },
    },
    "release() of a shared claim names no waiter while another owner shares the resource": {
      "names a waiter whenever a sharer releases": (node) => {
        let last: string | undefined;
        return {
          async acquire(request) {
            last = request.waiter ?? last;
            return node.acquire(request);
          },
          async release(request) {
            const reply = await node.release(request);
            const isLeft = await isShared(node, request.resources[0] as string);
            return isLeft && last !== undefined ? { ...reply, next: last } : reply;
          },
        };
      },
    },
    "release() of the last shared claim with undo, or with a waiter, does so as for an exclusive one": {
      "names a waiter when a shared claim is undone": on("release", async ({ undo, ...request }, node) => {
        const wasShared = await isShared(node, request.resources[0] as string);
        return node.release(undo === undefined || wasShared ? request : { ...request, undo });
      }),
    },
    "acquire() of a shared claim denied in favour of a writer adds its waiter, whose turn comes next": {
      "forgets the waiter of a reader that it denies in favour of a writer": on(
        "acquire",
        async ({ waiter, ...request }, node) => {
          const joins = request.shared && (await isShared(node, request.resources[0] as string));
          return node.acquire(joins || waiter === undefined ? request : { ...request, waiter });
        },
      ),
    },
    "acquire() of shared claims is granted again once an exclusive request was": {
      "still favours a writer that had its turn": (node, elapsedMs) => favouring(node, elapsedMs, 1_000),
    },
    "acquire() of shared claims is granted to all readers after an exclusive claim, whoever else waits": {
      "favours a writer that met an exclusive claim, and keeps out readers that it names together": (node, elapsedMs) =>
        favouring(node, elapsedMs, 1_000, true),
    },
    "acquire() of a shared claim denied on several resources adds its waiter to the list of each that is held, even shared":
      {
        "adds the waiter of a shared request only to the lists of resources that are held alone": on(
          "acquire",
          async (request, node) => {
            const { waiter, ...silent } = request;
            if (waiter === undefined || !request.shared || request.resources.length === 1) return node.acquire(request);
            const reply = await node.acquire(silent);
            if (reply.granted) return reply;
            for (const resource of request.resources) {
              const { sharers, owner } = await node.inspect(resource);
              if (owner !== null && sharers === undefined) await node.acquire({ ...request, resources: [resource] });
            }
            return reply;
          },
        ),
      },
    "sharers can join again some seconds after an exclusive request with a waiter was denied": {
      "favours a writer forever": (node, elapsedMs) => favouring(node, elapsedMs, Number.POSITIVE_INFINITY),
    },
  }),
  ...brokenIf(["watch", "waitingLists"], {
    "watch() names all waiters of shared requests together, and no exclusive one with them": {
      "notifies watchers of only one of the waiters that it names together": (node) => {
        let isNew = false;
        return {
          async release(request) {
            isNew = true;
            return node.release(request);
          },
          watch: (resources, tell) =>
            node.watch(resources, (resource, next) => {
              if (!isNew) return;
              isNew = false;
              tell(resource, next);
            }),
        };
      },
    },
    "watch() names the exclusive waiter whose turn comes after the last shared claim": {
      "notifies watchers of all waiters after the last shared claim": (node) => {
        const waiters = new Set<string>();
        return {
          async acquire(request) {
            if (request.waiter !== undefined) waiters.add(request.waiter);
            return node.acquire(request);
          },
          watch: (resources, tell) =>
            node.watch(resources, (resource) => {
              for (const waiter of waiters) tell(resource, waiter);
            }),
        };
      },
    },
  }),
  ...brokenIf(["watch"], {
    "watch() notifies of the release of the last shared claim": {
      "does not notify watchers of the release of a shared claim": (node) => {
        const sharers = new Set<string>();
        let isMuted = false;
        return {
          async acquire(request) {
            if (request.shared) sharers.add(request.owner);
            return node.acquire(request);
          },
          async release(request) {
            isMuted = sharers.has(request.owner);
            return node.release(request);
          },
          watch: (resources, tell) =>
            node.watch(resources, (resource, next) => {
              if (!isMuted) tell(resource, next);
            }),
        };
      },
    },
  }),
];
