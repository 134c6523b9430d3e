import type { LockNode } from "@holdfast/core";

/** Returns a node as a plain object, even if its methods are those of a class. */
export function plainNode<N extends LockNode>(node: N, name: string = node.name): N {
  const methods = ["acquire", "extend", "release", "watch", "inspect", "close", "raiseFloor", "scan"] as const;
  const offered = methods.filter((method) => node[method] !== undefined);
  const bound = offered.map((method) => [method, (node[method] as Method).bind(node)]);
  return { name, ...suggestionOf(node), ...Object.fromEntries(bound) } as N;
}

type Method = (...given: never[]) => unknown;

function suggestionOf({ suggestedTimeoutMs }: LockNode): Pick<LockNode, "suggestedTimeoutMs"> {
  return { ...(suggestedTimeoutMs !== undefined && { suggestedTimeoutMs }) };
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
  const result: LockNode = {
    name: node.name,
    ...suggestionOf(node),
    async acquire(request) {
      const reply = await node.acquire(renamed(request));
      if (reply?.granted !== false || !Array.isArray(reply.heldResources)) return reply;
      const nameOf = givenNames(request.resources);
      return { ...reply, heldResources: reply.heldResources.map(nameOf) };
    },
    extend: (request) => node.extend(renamed(request)),
    release: (request) => node.release(renamed(request)),
  };
  if (node.watch) {
    result.watch = (resources, onReleased) => {
      const nameOf = givenNames(resources);
      return (node as Required<LockNode>).watch([...new Set(resources.map(keptAs))], (kept, next) =>
        onReleased(nameOf(kept), next),
      );
    };
  }
  if (node.inspect) result.inspect = (resource) => (node as Required<LockNode>).inspect(keptAs(resource));
  if (node.raiseFloor) result.raiseFloor = (request) => (node as Required<LockNode>).raiseFloor(request);
  if (node.scan) {
    result.scan = async (request) => {
      const portion = await (node as Required<LockNode>).scan(request);
      const claims = portion.claims?.map((claim) => ({
        ...claim,
        resource: given.get(claim.resource) ?? claim.resource,
      }));
      return { ...portion, claims };
    };
  }
  if (node.close) result.close = () => (node as Required<LockNode>).close();
  return result as N;
}
