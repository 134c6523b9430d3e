import { EpochError } from "@holdfast/core";
import type { AcquireReply, FloorRequest, LockNode, NodeView } from "@holdfast/core/node";
import { type MemoryNode, memoryNode } from "@holdfast/memory";
import { longMs, scanAll } from "@holdfast/redis-testkit/requests";
import { fuzzSeed, isNightly } from "@holdfast/testkit";
import fc from "fast-check";
import type { Redis } from "ioredis";
import { expect, test } from "vitest";
import { floorScript } from "../src/generated/floor-script.ts";
import { lockNames, redisNode } from "../src/index.ts";
import { channelPrefix } from "../src/keys.ts";
import { clientOf, connectionOver, startBench } from "./connection.ts";
import { listen, type NodeOperation, oneOf, operate, operationsWith } from "./script-histories.ts";

/*
 * Random histories of exclusive and shared requests and of epochs, which a node on a server and the memory node, the
 * reference, answer alike. They also name the same waiters, and their scans find the same.
 *
 * Floors are left out: a floor raises all counters of a server, so extensions, inspections and scans see it there, and
 * the memory node keeps it apart. `floor.test.ts` tests them. For the same reason the resources of a history have
 * different counters.
 */

const { client, server } = await startBench();
const resources = ["a", "b", "c"] as const;
/** An owner's claims are all shared, or all exclusive. */
const owners = ["writer 1", "writer 2", "writer 3", "reader 1", "reader 2", "reader 3"] as const;
/** A claim that has ended before the next step, and claims that outlast the history. The last two sharers differ in their end. */
const ttlsMs = [1, longMs, 2 * longMs] as const;
/** Times are read one after another. Those that differ otherwise are further apart. */
const toleranceMs = 60_000;
/** Reservations for writers end after a second: a history that takes longer proves nothing. */
const historyMsMax = 700;

type Step = NodeOperation | { do: "raise"; request: FloorRequest };

const anyOwner = fc.constantFrom(...owners);
const anyResources = fc.oneof(
  { weight: 3, arbitrary: fc.constant(["a"]) },
  {
    weight: 2,
    arbitrary: fc.uniqueArray(fc.constantFrom(...resources), { minLength: 1, maxLength: 3 }).map((all) => all.sort()),
  },
);
const anyTtlMs = fc.oneof(
  { weight: 1, arbitrary: fc.constant(1) },
  { weight: 5, arbitrary: fc.constantFrom(...ttlsMs) },
);
const anyWaiter = fc.option(fc.constantFrom("B", "A", "C"), { nil: undefined });

const ofAny = { owner: anyOwner, resources: anyResources };
const claimTerms = { ttlMs: anyTtlMs, fenceHint: fc.constantFrom(1, 1, 20), epoch: fc.constantFrom(1, 1, 2, 3) };
const takeover = fc.option(anyOwner, { nil: undefined, freq: 2 });
const extendTerms = { ttlMs: anyTtlMs, fence: fc.constantFrom(1, 9, 30), rejoin: fc.boolean() };
const undo = fc.nat(4).map((draw) => draw === 0);

const anyStep = oneOf<Step>([
  [6, operationsWith("acquire", { ...ofAny, ...claimTerms, takeover, waiter: anyWaiter }).map(inModeOfOwner)],
  [3, operationsWith("extend", { ...ofAny, ...extendTerms }).map(inModeOfOwner)],
  [5, operationsWith("release", { ...ofAny, undo, waiter: anyWaiter })],
  [
    1,
    fc
      .constantFrom(0, 1, 1, 2, 3)
      .map((epoch): Step => ({ do: "raise", request: { floor: 0, epoch, timeoutMs: longMs } })),
  ],
  [1, fc.constantFrom(...resources).map((resource): Step => ({ do: "inspect", resource }))],
]);

/** Lets readers share. */
function inModeOfOwner(step: NodeOperation): NodeOperation {
  if (step.do !== "acquire" && step.do !== "extend") return step;
  const request = { ...step.request, shared: step.request.owner.startsWith("reader") };
  return { ...step, request } as NodeOperation;
}

type FloorNode = LockNode & Required<Pick<LockNode, "raiseFloor" | "scan">>;

/** Resolves with the reply, or with the error of a refused epoch. */
async function play(node: FloorNode, step: Step): Promise<unknown> {
  try {
    return await (step.do === "raise" ? node.raiseFloor(step.request) : operate(node, step));
  } catch (error) {
    if (error instanceof EpochError) return { refused: error.message };
    throw error;
  }
}

/** Waits until claims of a millisecond have ended on both clocks. */
async function outlastShortClaims(): Promise<void> {
  const endMs = performance.now() + 3;
  while (performance.now() < endMs) await new Promise(setImmediate);
}

/**
 * Returns a reply without what the nodes may report differently: exact times, all of several held resources, and which of
 * several sharers lasts longest.
 */
function comparable(reply: unknown): Record<string, unknown> {
  const { owner, retryAfterMs, remainingMs, sharers, heldResources, holder, ...rest } = reply as Partial<
    Extract<AcquireReply, { granted: false }> & NodeView
  >;
  return {
    ...rest,
    ...(owner !== undefined && { owner: sharers === undefined ? owner : "one of them" }),
    ...(retryAfterMs !== undefined && { retryAfter: rounded(retryAfterMs) }),
    ...(remainingMs != null && { remaining: rounded(remainingMs) }),
    ...(sharers !== undefined && {
      sharers: sharers.map((sharer) => [sharer.owner, rounded(sharer.remainingMs)]).sort(),
    }),
  };
}

/** Rounds a time to what was asked for, as little of it has passed. A reservation for a writer counts as 0. */
function rounded(ms: number): number {
  return ms <= 1_000 ? 0 : Math.ceil((ms - toleranceMs) / longMs) * longMs;
}

/** Returns what a scan finds in a comparable form. */
async function scanned(node: FloorNode): Promise<string> {
  const { counters, highest, claims } = await scanAll(node);
  const held = claims.map(({ resource, owner, remainingMs }) => [resource, owner, rounded(remainingMs)].join());
  return JSON.stringify([counters, highest, held]);
}

let prefixes = 0;

/** Returns the prefix of a history, with which each resource has a counter of its own. */
function newPrefix(): string {
  const prefix = `history ${++prefixes}:`;
  return new Set(fenceKeysOf(prefix)).size === resources.length ? prefix : newPrefix();
}

function fenceKeysOf(prefix: string): string[] {
  return resources.map((resource) => lockNames(prefix, resource).fence);
}

/** Returns a node whose `raiseFloor` raises only the counters of the resources, as raising all takes too long. */
function nodeOnServer(prefix: string): FloorNode {
  const node = redisNode(connectionOver(client), { prefix, wakeUps: false, verifyServer: false });
  return {
    ...node,
    async raiseFloor({ floor, epoch }) {
      const keys = fenceKeysOf(prefix);
      const reply = await client.eval(floorScript.source, keys.length, ...keys, "1", "raise", floor, epoch);
      const lowestEpoch = (reply as unknown[])[5];
      return { floor: 0, epoch: Number(lowestEpoch) };
    },
  };
}

/** Plays a history on both nodes. Returns the first difference, or undefined if there is none, or if it took too long. */
async function differenceIn(steps: readonly Step[], subscriber: Redis): Promise<string | undefined> {
  await client.flushall();
  const prefix = newPrefix();
  const node = nodeOnServer(prefix);
  const reference = memoryNode() as MemoryNode & FloorNode;
  const heard = await listen({ client, subscriber }, `${channelPrefix}*`);
  const expected: string[] = [];
  await reference.watch(resources, (resource, next = "") => expected.push(`${resource} ${next}`));
  const startMs = performance.now();
  const isTooLate = () => performance.now() - startMs > historyMsMax;
  const reserved = new Set<string>(); // resources that were shared when a writer was last denied, and ever since
  for (const [index, planned] of steps.entries()) {
    const step = await withoutIdleWaiter(planned, reference);
    const [actual, wanted] = [await play(node, step), await play(reference, step)].map(comparable);
    if (isTooLate()) return undefined;
    if (!actual?.uniform) delete wanted?.uniform; // a node need not say so
    // The server forgets the reservation for a writer with the last sharer, and the reference does not.
    const isReserved = wanted?.granted === false && wanted.retryAfter === 0;
    if (isReserved && !resourcesOf(step).some((resource) => reserved.has(resource))) return undefined;
    if ("request" in step && "ttlMs" in step.request && step.request.ttlMs === 1) await outlastShortClaims();
    const difference = `step ${index + 1}, ${JSON.stringify(step)}: ${JSON.stringify(actual)}, not ${JSON.stringify(wanted)}`;
    if (JSON.stringify(sorted(actual)) !== JSON.stringify(sorted(wanted))) return difference;
    for (const resource of resources) {
      const { sharers } = await reference.inspect(resource);
      if (sharers === undefined) reserved.delete(resource);
      else if (step.do === "acquire" && wanted?.granted === false) reserved.add(resource);
    }
  }
  const named = await heard.end();
  const [found, known] = [await scanned(node), await scanned(reference)];
  if (isTooLate()) return undefined;
  if (found !== known) return `the scans: ${found}, not ${known}`;
  const own = named.map((message) => message.replace(channelPrefix + prefix, ""));
  const [actual, wanted] = [own, expected].map((all) => JSON.stringify(byResource(all)));
  return actual === wanted ? undefined : `the messages: ${actual}, not ${wanted}`;
}

/** Removes the waiter of a request that is resent, whose lists the reference leaves alone. */
async function withoutIdleWaiter(step: Step, reference: MemoryNode): Promise<Step> {
  if (step.do !== "acquire" || step.request.waiter === undefined) return step;
  const { waiter, ...request } = step.request;
  for (const resource of request.resources) {
    const { owner, sharers } = await reference.inspect(resource);
    const owners = sharers?.map((sharer) => sharer.owner) ?? [owner];
    if (!owners.includes(request.owner)) return step;
  }
  return { do: "acquire", request };
}

function resourcesOf(step: Step): readonly string[] {
  if (step.do === "raise") return [];
  return step.do === "inspect" ? [step.resource] : step.request.resources;
}

function sorted(value: unknown): unknown {
  return Object.entries(value as object).sort();
}

function byResource(messages: readonly string[]): unknown {
  return resources.map((resource) => messages.filter((message) => message.startsWith(`${resource} `)));
}

test("redisNode() answers random histories as the memory node does, and names the same waiters", async () => {
  const subscriber = await clientOf(server);
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 25 }), async (steps) => {
      expect(await differenceIn(steps, subscriber)).toBeUndefined();
    }),
    { numRuns: isNightly ? 600 : 50, seed: fuzzSeed },
  );
});
