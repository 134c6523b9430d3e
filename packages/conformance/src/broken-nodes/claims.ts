import { setTimeout } from "node:timers/promises";
import type { AcquireRequest, LockNode } from "@holdfast/core/node";
import { renamedNode } from "../world/renamed-node.ts";
import { type BrokenNode, broken, brokenIf, claimEach, on, releasingSent, withDenials } from "./broken-node.ts";
import { withHeldResources } from "./replies.ts";

/** Returns the requested resources that have any owner. */
function heldByAny(node: Required<LockNode>): (request: AcquireRequest) => Promise<readonly string[]> {
  return async ({ resources }) => {
    const views = await Promise.all(resources.map((resource) => node.inspect(resource)));
    return resources.filter((_, index) => views[index]?.owner !== null);
  };
}

/** Replaces the holder in each denial. */
function withHolder(node: LockNode, name: (request: AcquireRequest) => Promise<string | undefined>): Partial<LockNode> {
  return withDenials(node, async (denial, request) => {
    const holder = await name(request);
    return { ...denial, ...(holder !== undefined && { holder }) };
  });
}

/** Faults in claims. */
export const brokenClaims: readonly BrokenNode[] = [
  ...broken({
    "both clients see each other's claims": {
      "ignores the claims of other clients": {
        perClient(node) {
          const client = crypto.randomUUID();
          return renamedNode(node, (resource) => `${resource}, by ${client}`);
        },
      },
    },
    "acquire() denies and changes nothing while another owner holds any of the resources": {
      "claims several resources one by one, and keeps the first if a later one is held": on("acquire", claimEach),
    },
    "acquire() and release() of one owner sent at once take effect in either order, as their replies say": {
      "reports that it released a claim whose acquire it has only just sent": (node) => releasingSent(node),
    },
    "acquire() denies a resource that another owner holds, through either client": {
      "rejects instead of denying": (node) =>
        withDenials(node, () => Promise.reject(new Error("the resource is locked"))),
    },
    "acquire() names the holder of the blocking claim, if it names one": {
      "names the owner of the request as the holder": (node) => withHolder(node, async ({ owner }) => owner),
    },
    "acquire() lists as held only resources that another owner holds, if it lists any": {
      "lists a free resource as held": (node) => withHeldResources(node, ({ resources }) => resources),
    },
    "release() frees all of several resources, and keeps each counter": {
      "releases only the first of several resources": on("release", ({ resources, ...rest }, node) =>
        node.release({ ...rest, resources: resources.slice(0, 1) }),
      ),
    },
    "release() of a resource never claimed, or sent again, changes nothing, and does not reject": {
      "always returns released": on("release", async (request, node) => ({
        ...(await node.release(request)),
        released: true,
      })),
    },
    "extend() without rejoin returns not held and changes nothing if the owner holds only some of the resources": {
      "counts a claim on the first of several resources as a claim on all": on("extend", (request, node) =>
        node.extend({ ...request, resources: request.resources.slice(0, 1) }),
      ),
    },
  }),
  ...brokenIf(["inspect"], {
    "acquire() grants exactly one of 100 claims sent at once, in every round": {
      "checks that the resource is free, and claims it in a second step": (node) => {
        let secondSteps: Promise<unknown> = Promise.resolve();
        return {
          async acquire(request) {
            const [resource] = request.resources as [string];
            const seen = await node.inspect(resource);
            if (seen.owner !== null) return { granted: false };
            const claim = secondSteps.then(async () => {
              const { owner } = await node.inspect(resource);
              if (owner !== null) await node.release({ ...request, owner });
              return node.acquire(request);
            });
            secondSteps = claim;
            return claim;
          },
        };
      },
    },
    "acquire() with takeover and the release of the old owner sent at once leave the claim to the new owner": {
      "frees the resource for a late release, even if a takeover has overtaken it": on(
        "release",
        async (request, node) => {
          const views = await Promise.all(request.resources.map((resource) => node.inspect(resource)));
          await setTimeout(1);
          if (!views.some(({ owner }) => owner === request.owner)) return node.release(request);
          const freed = request.resources.map(async (resource) => {
            const { owner } = await node.inspect(resource);
            return node.release({ ...request, resources: [resource], owner: owner ?? request.owner });
          });
          return { released: (await Promise.all(freed)).some(({ released }) => released) };
        },
      ),
    },
    "acquire() gives the wait for the claim that lasts longest, and its holder, if it gives any": {
      "names the holder of the first resource, even if another claim lasts longer": (node) =>
        withHolder(node, async ({ resources }) => (await node.inspect(resources[0] as string)).owner ?? undefined),
    },
    "acquire() lists as held only resources that another owner holds, if it lists any": {
      "lists as held what the requesting owner holds or may take over": (node) =>
        withHeldResources(node, heldByAny(node)),
    },
    "acquire() resent by the holder grants again with the same fence, whatever its hint": {
      "denies a resent request because the resource is held": on("acquire", async (request, node) => {
        const { owner } = await node.inspect(request.resources[0] as string);
        return owner === request.owner ? { granted: false } : node.acquire(request);
      }),
    },
    "acquire() with takeover from an owner that does not hold the resource is denied": {
      "takes over from any owner": on("acquire", async (request, node) => {
        if (request.takeover === undefined) return node.acquire(request);
        const { owner } = await node.inspect(request.resources[0] as string);
        return node.acquire({ ...request, takeover: owner ?? "nobody" });
      }),
    },
    "acquire() with takeover takes over that owner's claims together with free resources": {
      "takes over only if none of the resources is free": on("acquire", async ({ takeover, ...request }, node) => {
        const views = await Promise.all(request.resources.map((resource) => node.inspect(resource)));
        const isAllHeld = views.every(({ owner }) => owner === takeover);
        return node.acquire(isAllHeld && takeover !== undefined ? { ...request, takeover } : request);
      }),
    },
    "release() leaves another owner's claim and counter alone": {
      "releases the claim of any owner": on("release", async (request, node) => {
        const { owner } = await node.inspect(request.resources[0] as string);
        return node.release({ ...request, owner: owner ?? request.owner });
      }),
    },
    "release() frees the owner's claims, and leaves another owner's among the same resources": {
      "releases only if the owner holds all of the resources": on("release", async (request, node) => {
        const views = await Promise.all(request.resources.map((resource) => node.inspect(resource)));
        const holdsAll = views.every(({ owner }) => owner === request.owner);
        return holdsAll ? node.release(request) : { released: false };
      }),
    },
    "release() sent many times at once frees no claim of the next owner": {
      "checks which owner holds the resource, and frees it in a second step": (node) => {
        const freed = new Set<string>();
        return {
          async release(request) {
            const [resource] = request.resources as [string];
            if ((await node.inspect(resource)).owner !== request.owner) return { released: false };
            const isFirst = !freed.has(request.owner);
            freed.add(request.owner);
            // The other releases take their second step once the next owner holds the resource, if that is soon.
            for (let looks = 0; looks < 50; looks++) {
              const { owner } = await node.inspect(resource);
              if (owner !== null && (isFirst || owner !== request.owner)) return node.release({ ...request, owner });
              await setTimeout(5);
            }
            return node.release(request);
          },
        };
      },
    },
    "extend() of another owner's claim returns not held, and changes neither claim nor counter": {
      "extends the claim of any owner": on("extend", async (request, node) => {
        const { owner } = await node.inspect(request.resources[0] as string);
        return node.extend({ ...request, owner: owner ?? request.owner });
      }),
    },
  }),
];
