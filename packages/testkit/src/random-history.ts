import type { LockNode, NodeView } from "@holdfast/core/node";
import { fuzzSeed } from "./fuzz-seed.ts";
import { isNightly } from "./nightly.ts";

const resources = ["a", "b", "c"];
const sharers = ["s1", "s2", "s3", "s \u0000'\"\\é"];
const others = ["x1", "x2", "x3"];

type FloorNode = LockNode & Required<Pick<LockNode, "raiseFloor">>;

/**
 * Sends the same random requests, exclusive and shared ones of a few owners, between which the floor rises, to nodes and to
 * references. Returns a history that ends at the first request to which they reply differently or after which they hold
 * different claims or counters; undefined if there is none. No claim expires, and no request has a waiter.
 */
export async function differenceInHistories(
  open: () => FloorNode | Promise<FloorNode>,
  openReference: () => FloorNode,
): Promise<string | undefined> {
  for (let history = 0; history < (isNightly ? 12 : 2); history++) {
    const seed = fuzzSeed + 1_000 * history;
    const [node, reference] = [await open(), openReference()];
    for (let part = 0; part < 6; part++) {
      const request = { floor: part * ((Math.abs(seed) % 13) + history), epoch: part % 2, timeoutMs: 10_000 };
      const [own, right] = [await node.raiseFloor(request), await reference.raiseFloor(request)];
      if (own.floor !== right.floor || own.epoch !== right.epoch)
        return `raiseFloor ${JSON.stringify([request, own, right])}`;
      const difference = await differenceInHistory(node, reference, seed + part);
      if (difference !== undefined) return `seed ${seed}, part ${part}\n${difference}`;
    }
  }
  return undefined;
}

async function differenceInHistory(node: LockNode, reference: LockNode, seed: number): Promise<string | undefined> {
  const draw = drawFrom(seed);
  const history: string[] = [];
  for (let step = 0; step < 20; step++) {
    const send = randomRequest(draw);
    const [own, right] = [await send(node), await send(reference)];
    history.push(own);
    const differences = own === right ? [] : [`reference: ${right}`];
    for (const resource of resources) {
      const [found, wanted] = [await viewOf(node, resource), await viewOf(reference, resource)];
      if (found !== wanted) differences.push(`${resource}: ${found}`, `reference: ${wanted}`);
    }
    if (differences.length > 0) return [...history, ...differences].join("\n");
  }
  return undefined;
}

/** Returns a function that draws an integer from 0 to below `count`. */
export function drawFrom(seed: number): (count: number) => number {
  let state = seed >>> 0;
  return (count) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
}

/** Draws a request. The returned function sends it, and describes it with the reply. */
function randomRequest(draw: (count: number) => number): (node: LockNode) => Promise<string> {
  const any = <T>(items: readonly T[]): T => items[draw(items.length)] as T;
  const shared = draw(2) === 0;
  const owner = any(shared ? sharers : others);
  const wanted = resources.filter(() => draw(3) === 0);
  const base = { resources: wanted.length > 0 ? wanted : [any(resources)], owner, timeoutMs: 10_000 };
  const ttlMs = 100_000 + 1_000 * draw(100);
  const kind = draw(6);
  if (kind < 3) {
    const takeover = draw(3) === 0 ? { takeover: any([...sharers, ...others].filter((each) => each !== owner)) } : {};
    const request = { ...base, ttlMs, fenceHint: draw(10) === 0 ? 1 + draw(50) : 1, shared, ...takeover };
    return async (node) => {
      const { granted, ...rest } = await node.acquire(request);
      const { fence, heldResources } = { fence: undefined, heldResources: undefined, ...rest };
      return `acquire ${JSON.stringify(request)}: ${JSON.stringify({ granted, fence, heldResources })}`;
    };
  }
  if (kind === 3) {
    const request = { ...base, ttlMs, fence: 1 + draw(30), rejoin: draw(2) === 0, shared };
    return async (node) => {
      const reply = await node.extend(request);
      // Of several sharers, either node may name another one.
      return `extend ${JSON.stringify(request)}: ${JSON.stringify({ ...reply, holder: undefined })}`;
    };
  }
  return async (node) => `release ${JSON.stringify(base)}: ${JSON.stringify(await node.release(base))}`;
}

async function viewOf(node: LockNode, resource: string): Promise<string> {
  const view = (await node.inspect?.(resource)) as NodeView;
  return JSON.stringify({ holders: view.sharers?.map(({ owner }) => owner).sort() ?? view.owner, fence: view.fence });
}
