import { setImmediate, setTimeout } from "node:timers/promises";
import type { LockNode } from "@holdfast/core";
import { type Contest, contend, type Winnings } from "../contend.ts";
import type { RemoteNode } from "../rival-processes.ts";
import type { Limit, Settings } from "../settings.ts";
import type { LockNodeSubject, SubjectServer } from "../subject.ts";
import { type Client, clientOf, freshOwner, type Resources } from "./client.ts";
import { renamedNode } from "./renamed-node.ts";

/** How long the suite waits between two looks at a server on real time, in milliseconds. */
const pollMs = 5;

/** How long the suite waits, on real time, for what must not happen. */
export const momentMs = 15;

/** What a claim may seem too short by, as the clocks of most servers count whole milliseconds. */
export const clockGrainMs = 2;

/** The same for a remaining time that a node tells where it ends claims late: it may count whole seconds. */
const coarseGrainMs = 1_000;

/** By how much two clocks may differ in speed. */
const clockRateError = 0.001;

/** What one test works with: one fresh server, two clients of it, and a way for time to pass. */
export interface World {
  readonly node: Client;
  readonly rival: Client;
  /** The same two, as the subject gave them: names reach them as they are, and need not be related. */
  readonly bare: { readonly node: Client; readonly rival: Client };
  /** The way to the server. Throws where the suite has no hand in it. */
  readonly server: SubjectServer;
  /** How long something that must happen may take, in milliseconds. */
  readonly timeoutMs: number;
  /** Whether the server can do what some servers cannot. */
  can(limit: Limit): boolean;
  /** How many resources one call may name. */
  readonly resourcesMax: number;
  /** How many bytes of UTF-8 a name may have. */
  readonly nameBytesMax: number;
  /** A client in another process, which all tests share. Throws where the subject has none. */
  inOtherProcess(): Promise<Client>;
  /** Has this process and another one contend for the resources until the other one has so many grants. */
  contendInTwoProcesses(resources: readonly string[], grants: number): Promise<readonly Winnings[]>;
  /** A client in a process of its own, and how to kill that process. */
  inOwnProcess(): Promise<{ readonly client: Client; kill(): Promise<void> }>;
  /** Ends the clients in other processes, and then the subject. */
  close(): Promise<void>;
  /** The server's wall clock, in milliseconds since the Unix epoch. */
  nowMs(): number;
  /** A clock that runs as the server's does, in milliseconds since some moment. */
  elapsedMs(): number;
  /** Whether the server ends claims on the millisecond, so that nothing may be said to last longer than its ttl. */
  readonly endsExactly: boolean;
  /** Whether, besides, its clock is in the suite's hands, so that the end can be seen on the millisecond. */
  readonly showsExactEnd: boolean;
  /** What a remaining time may be too short by, when this much time has passed: clocks have a grain, and a speed. */
  remainingGrainMs(elapsedMs: number): number;
  /** Lets this much time pass on the server. */
  pass(ms: number): Promise<void>;
  /** Lets this much time pass where that takes none, and a moment on real time, for what would happen at once. */
  leap(ms: number): Promise<void>;
  /** Lets time pass until the condition is true, and fails if it is still false after the timeout (default: the suite's). */
  eventually(what: string, condition: () => boolean | Promise<boolean>, timeoutMs?: number): Promise<void>;
}

/** Makes the world of one test out of a fresh subject. */
export function worldOf(subject: LockNodeSubject, settings: Settings): World {
  const { cannot, timeoutMs, resourcesMax, nameBytesMax, processes } = settings;
  const endsExactly = !cannot.has("exactTtl");
  let advancedMs = 0;
  const advance = async (ms: number): Promise<void> => {
    advancedMs += ms;
    await subject.advance?.(ms);
    await setImmediate();
  };
  const { related } = subject;
  if (cannot.has("unrelatedResources") && !related) {
    throw new TypeError("a subject must have related() where unrelatedResources is declared");
  }
  const bare = { node: clientOf(subject.node, timeoutMs), rival: clientOf(subject.rival, timeoutMs) };
  const clientOfRelated = (node: LockNode): Client =>
    clientOf(
      renamedNode(node, (resource) => related?.call(subject, resource) ?? resource),
      timeoutMs,
    );
  const remotes: RemoteNode[] = [];
  const openRemote = async (how: "open" | "openAlone"): Promise<RemoteNode> => {
    if (!subject.rivalModule) throw new Error("the subject has no rivalModule");
    const remote = await processes[how](subject.rivalModule);
    remotes.push(remote);
    return remote;
  };
  const clientInProcess = ({ node }: RemoteNode): Client =>
    related ? clientOfRelated(node) : clientOf(node, timeoutMs);
  const world: World = {
    node: related ? clientOfRelated(subject.node) : bare.node,
    rival: related ? clientOfRelated(subject.rival) : bare.rival,
    bare,
    get server() {
      if (!subject.server) throw new Error("the subject has no server");
      return subject.server;
    },
    timeoutMs,
    can: (limit) => !cannot.has(limit),
    resourcesMax,
    nameBytesMax,
    inOtherProcess: async () => clientInProcess(await openRemote("open")),
    async contendInTwoProcesses(names, grants) {
      const remote = await openRemote("open");
      const resources = names.map((name) => related?.call(subject, name) ?? name).sort();
      const contest: Contest = { resources, grants, timeoutMs };
      let isOver = false;
      const there = remote.contend(contest).finally(() => {
        isOver = true;
      });
      // This process has begun when the other begins, and goes on for as long.
      return Promise.all([there, contend(subject.node, contest, () => isOver)]);
    },
    async inOwnProcess() {
      const remote = await openRemote("openAlone");
      return { client: clientInProcess(remote), kill: () => remote.kill() };
    },
    async close() {
      // A subject must be ended even if a process cannot be.
      await Promise.allSettled(remotes.map((remote) => remote.close()));
      await subject.close();
    },
    endsExactly,
    showsExactEnd: endsExactly && subject.advance !== undefined,
    nowMs: () => subject.nowMs?.() ?? Date.now(),
    elapsedMs: () => (subject.advance ? advancedMs : performance.now()),
    remainingGrainMs: (elapsedMs) => (endsExactly ? clockGrainMs : coarseGrainMs) + elapsedMs * clockRateError,
    async pass(ms) {
      if (subject.advance) return advance(ms);
      for (const end = performance.now() + ms; performance.now() < end; ) await setTimeout(pollMs);
    },
    leap: (ms) => world.pass(subject.advance ? ms : Math.min(ms, momentMs)),
    async eventually(what, condition, limitMs = timeoutMs) {
      const startMs = world.elapsedMs();
      const endMs = performance.now() + limitMs;
      while (!(await condition())) {
        if (performance.now() > endMs) throw new Error(`${what}: not within ${limitMs} ms`);
        // An injected clock advances no further than the timeout: claims that must stay could end otherwise.
        if (subject.advance && world.elapsedMs() - startMs < limitMs) await advance(1);
        else await setTimeout(pollMs);
      }
    },
  };
  return world;
}

/** Waits until a resource is free, by claiming it, and returns the fence. */
export async function claimWhenFree(world: World, resource: string, owner: string = freshOwner()): Promise<number> {
  let fence: number | undefined;
  await world.eventually(`${resource} is free for ${owner}`, async () => {
    const reply = await world.rival.acquire(owner, resource);
    if (reply.granted) fence = reply.fence;
    return reply.granted;
  });
  return fence as number;
}

/** Claims a resource for a short while, and returns its fence when the claim has certainly expired. */
export async function claimAndExpire(world: World, owner: string, resource: string): Promise<number> {
  const ttlMs = 40;
  const fence = await world.node.grant(owner, resource, { ttlMs });
  // The witness is claimed later, for the same time: once it is free, so is the resource, on whatever clock.
  const witness = `${resource}, witness`;
  await world.node.grant(freshOwner(), witness, { ttlMs });
  await claimWhenFree(world, witness);
  return fence;
}

/**
 * Runs a body that needs a claim to be alive throughout. Only where the machine stalled for longer than the ttl it is
 * run again, with a longer ttl and another resource; what it found out in a stalled run is not counted.
 *
 * @returns the resource and the ttl of the run that counted
 */
export async function whileAlive(
  world: World,
  body: (resource: string, ttlMs: number) => Promise<void>,
): Promise<{ readonly resource: string; readonly ttlMs: number }> {
  for (let ttlMs = 40; ttlMs < 10_000; ttlMs *= 2) {
    const resource = `alive for ${ttlMs} ms`;
    const startMs = world.elapsedMs();
    const inTime = (): boolean => world.elapsedMs() - startMs < ttlMs - clockGrainMs;
    try {
      await body(resource, ttlMs);
    } catch (error) {
      if (inTime()) throw error;
    }
    if (inTime()) return { resource, ttlMs };
  }
  throw new Error("the machine is too slow: a few calls took longer than the longest ttl that was tried");
}

/** Claims and releases what is free, and returns the fence: one more than the counter was. */
export async function nextFence(client: Client, resources: Resources): Promise<number> {
  const owner = freshOwner();
  const fence = await client.grant(owner, resources);
  await client.release(owner, resources);
  return fence;
}

/** A part of a whole, in percent, for a message. */
export function shareOf(part: number, whole: number): string {
  const percent = (100 * part) / whole;
  return `${percent < 10 ? percent.toFixed(1) : percent.toFixed(0)} %`;
}
