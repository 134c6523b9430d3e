import type { LockNode } from "@holdfast/core";

/** Copies these properties into a plain object, with methods bound to the original. */
export function plain<T extends object, Key extends keyof T>(object: T, keys: readonly Key[]): Pick<T, Key> {
  const properties = keys.flatMap((key) => {
    const value = object[key];
    if (value === undefined) return [];
    return [[key, typeof value === "function" ? value.bind(object) : value]];
  });
  return Object.fromEntries(properties) as Pick<T, Key>;
}

const methods = ["acquire", "extend", "release", "watch", "inspect", "close", "raiseFloor", "scan"] as const;

/** Returns a node as a plain object. */
export function plainNode<N extends LockNode>(node: N): N {
  return plain<LockNode, keyof LockNode>(node, ["name", ...methods, "suggestedTimeoutMs"]) as N;
}

/**
 * Returns a node that keeps each resource under another name.
 *
 * @param given the names of claimed resources by the names under which they are kept, which clients of one server share
 */
export function renamedNode<N extends LockNode>(
  node: N,
  keptAs: (resource: string) => string,
  given: Map<string, string> = new Map(),
): N {
  const renamed = <R extends { readonly resources: readonly string[] }>(request: R): R => {
    for (const resource of request.resources) given.set(keptAs(resource), resource);
    return { ...request, resources: request.resources.map(keptAs).sort() };
  };
  /** Maps the kept names of these resources back to their own. */
  const givenNames = (resources: readonly string[]): ((kept: string) => string) => {
    const names = new Map(resources.map((resource) => [keptAs(resource), resource]));
    return (kept) => names.get(kept) ?? kept;
  };
  const { acquire, extend, release, watch, inspect, scan, ...others } = plainNode<LockNode>(node);
  const result: LockNode = {
    ...others,
    async acquire(request) {
      const reply = await acquire(renamed(request));
      if (reply?.granted !== false || !Array.isArray(reply.heldResources)) return reply;
      const nameOf = givenNames(request.resources);
      return { ...reply, heldResources: reply.heldResources.map(nameOf) };
    },
    extend: (request) => extend(renamed(request)),
    release: (request) => release(renamed(request)),
    ...(inspect && { inspect: (resource) => inspect(keptAs(resource)) }),
    ...(watch && {
      watch(resources, onReleased) {
        const nameOf = givenNames(resources);
        const kept = [...new Set(resources.map(keptAs))];
        return watch(kept, (resource, next) => onReleased(nameOf(resource), next));
      },
    }),
    ...(scan && {
      async scan(request) {
        const portion = await scan(request);
        const nameOf = (kept: string): string => given.get(kept) ?? kept;
        return { ...portion, claims: portion.claims?.map((claim) => ({ ...claim, resource: nameOf(claim.resource) })) };
      },
    }),
  };
  return result as N;
}
