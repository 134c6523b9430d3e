import { setImmediate, setTimeout } from "node:timers/promises";
import type { LockNode } from "@holdfast/core";
import type { RemoteNode } from "../rival-processes.ts";
import type { Limit, Settings } from "../settings.ts";
import type { LockNodeSubject, SubjectServer } from "../subject.ts";
import { type ClaimTerms, Client, freshOwner, type Resources } from "./client.ts";
import { renamedNode } from "./renamed-node.ts";

/** How long the suite waits between two polls of a server in real time, in milliseconds. */
const pollMs = 5;

/** How long the suite waits in real time for something that must not happen, in milliseconds. */
export const momentMs = 15;

/** How much too short a claim may appear, in milliseconds, as most servers' clocks count whole milliseconds. */
export const clockGrainMs = 2;

/** The same for the remaining time from a node that ends claims late: it may count whole seconds. */
const coarseGrainMs = 1_000;

/** How much the rates of two clocks may differ. */
const clockRateError = 0.001;

/** Two clients of one server. */
export type Clients = Pick<World, "node" | "rival">;

/** The world of one test: a fresh server, two clients of it, and control over time. */
export interface World {
  readonly node: Client;
  readonly rival: Client;
  /** The same two clients without related names: resources reach them unchanged. */
  readonly bare: { readonly node: Client; readonly rival: Client };
  /** The control over the network to the server. Throws if the subject has none. */
  readonly server: SubjectServer;
  /** How long to wait for something that must happen, in milliseconds. */
  readonly timeoutMs: number;
  /** Whether the server has an ability that some servers lack. */
  can(limit: Limit): boolean;
  /** How many resources one call may name. */
  readonly resourcesMax: number;
  /** How many bytes of UTF-8 a name may have. */
  readonly nameBytesMax: number;
  /** Opens a client in another process, which all tests share. Rejects if the subject has no rival module. */
  inOtherProcess(): Promise<Client>;
  /** How often to repeat what the suite does `count` times by default. */
  times(count: number): number;
  /** Opens a client in a separate process, which may be killed. */
  inOwnProcess(): Promise<{ readonly client: Client; kill(): Promise<void> }>;
  /** Closes the clients in other processes, and then the subject. */
  close(): Promise<void>;
  /** The wall clock that limits fence hints, in milliseconds since the Unix epoch. */
  nowMs(): number;
  /** A clock that runs like the server's, in milliseconds since some moment. */
  elapsedMs(): number;
  /** Whether the server ends claims to the millisecond, so that no reply may give more than the ttl. */
  readonly endsExactly: boolean;
  /** Whether the suite also controls the server's clock, so that it can observe the end to the millisecond. */
  readonly showsExactEnd: boolean;
  /** How much too short a remaining time may be after `elapsedMs`, given the grain and the rate of clocks. */
  remainingGrainMs(elapsedMs: number): number;
  /** Lets time pass on the server. */
  pass(ms: number): Promise<void>;
  /** Lets time pass on an injected clock, or only a moment in real time, which suffices for anything immediate. */
  leap(ms: number): Promise<void>;
  /**
   * Lets time pass until the condition is true. Fails if it is still false after the timeout (default: the suite's).
   */
  eventually(what: string, condition: () => boolean | Promise<boolean>, timeoutMs?: number): Promise<void>;
}

/** Creates the world of one test from a fresh subject. */
export function worldOf(subject: LockNodeSubject, settings: Settings): World {
  const { cannot, timeoutMs, resourcesMax, nameBytesMax, processes, repetition } = settings;
  const endsExactly = !cannot.has("exactTtl");
  let advancedMs = 0;
  const advance = async (ms: number): Promise<void> => {
    advancedMs += ms;
    await subject.advance?.(ms);
    await setImmediate();
  };
  const { related } = subject;
  if (cannot.has("unrelatedResources") && !related) {
    throw new TypeError("a subject must have related() if unrelatedResources is declared");
  }
  const bare = { node: new Client(subject.node, timeoutMs), rival: new Client(subject.rival, timeoutMs) };
  const given = new Map<string, string>();
  const clientOfRelated = (node: LockNode): Client =>
    new Client(
      renamedNode(node, (resource) => related?.call(subject, resource) ?? resource, given),
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
    related ? clientOfRelated(node) : new Client(node, timeoutMs);
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
    times: (count) => Math.max(1, Math.round(count * repetition)),
    inOtherProcess: async () => clientInProcess(await openRemote("open")),
    async inOwnProcess() {
      const remote = await openRemote("openAlone");
      return { client: clientInProcess(remote), kill: () => remote.kill() };
    },
    async close() {
      // The subject must be closed even if a process cannot be.
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
        // An injected clock advances no further than the timeout: claims that must last could expire otherwise.
        if (subject.advance && world.elapsedMs() - startMs < limitMs) await advance(1);
        else await setTimeout(pollMs);
      }
    },
  };
  return world;
}

/** Claims a resource as soon as it is free, and returns the fence. */
export async function claimWhenFree(world: World, resource: string, owner: string = freshOwner()): Promise<number> {
  let fence: number | undefined;
  await world.eventually(`${resource} is free for ${owner}`, async () => {
    const reply = await world.rival.acquire(owner, resource);
    if (reply.granted) fence = reply.fence;
    return reply.granted;
  });
  return fence as number;
}

/** A ttl for claims that are to expire in the test. */
export const briefMs = 40;

/** Claims a resource briefly, and returns its fence once the claim has certainly expired. */
export async function claimAndExpire(
  world: World,
  owner: string,
  resource: string,
  terms?: ClaimTerms,
): Promise<number> {
  const fence = await world.node.grant(owner, resource, { ...terms, ttlMs: briefMs });
  await expireBriefClaims(world);
  return fence;
}

/** Waits until all claims that were made or extended for this ttl or less have certainly expired. */
export async function expireBriefClaims(world: World, ttlMs: number = briefMs): Promise<void> {
  // The witness is claimed later, for the same time: once it is free, the other claims have ended by any clock.
  const witness = `witness ${freshOwner()}`;
  await world.node.grant(freshOwner(), witness, { ttlMs });
  await claimWhenFree(world, witness);
}

/**
 * Runs a body that needs a short claim to be alive throughout. If the machine stalled for longer than the ttl, the run
 * does not count: the body runs again, with a longer ttl and another resource.
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

/** Claims and releases free resources, and returns the fence: one more than the counter was. */
export async function nextFence(client: Client, resources: Resources): Promise<number> {
  const owner = freshOwner();
  const fence = await client.grant(owner, resources);
  await client.release(owner, resources);
  return fence;
}

/** Formats a part of a whole in percent, for a message. */
export function shareOf(part: number, whole: number): string {
  const percent = (100 * part) / whole;
  return `${percent < 10 ? percent.toFixed(1) : percent.toFixed(0)} %`;
}
