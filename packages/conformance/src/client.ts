import type { AcquireReply, ExtendReply, LockNode, NodeView, ReleaseReply, Unwatch } from "@holdfast/core";
import { minuteMs } from "./durations.ts";
import { readAcquireReply, readExtendReply, readNodeView, readReleaseReply } from "./replies.ts";
import { within } from "./within.ts";

/** A ttl that does not end while a test runs, on however slow a machine. */
export const longMs: number = 10 * minuteMs;

/** One resource or several. */
export type Resources = string | readonly string[];

/** What a claim asks for. Default: `longMs`, and a hint below every counter. */
export interface ClaimTerms {
  readonly ttlMs?: number;
  readonly fenceHint?: number;
  readonly takeover?: string;
  readonly waiter?: string;
}

/** What an extension asks for. Default: `longMs`, a fence below every counter, no rejoining. */
export interface ExtendTerms {
  readonly ttlMs?: number;
  readonly fence?: number;
  readonly rejoin?: boolean;
}

/** What a release says besides. Default: nothing. */
export interface ReleaseTerms {
  readonly waiter?: string;
  readonly undo?: boolean;
}

/** The node under test in the hands of a test: requests are well-formed, and every reply is checked before use. */
export interface Client {
  readonly node: LockNode;
  acquire(owner: string, resources: Resources, terms?: ClaimTerms): Promise<AcquireReply>;
  /** Acquires, fails unless it is granted, and returns the fence. */
  grant(owner: string, resources: Resources, terms?: ClaimTerms): Promise<number>;
  /** Acquires, fails unless it is denied, and returns what the node knows about the wait. */
  deny(owner: string, resources: Resources, terms?: ClaimTerms): Promise<number | undefined>;
  extend(owner: string, resources: Resources, terms?: ExtendTerms): Promise<ExtendReply>;
  /** Extends, fails unless it is held, and returns the fence. */
  hold(owner: string, resources: Resources, terms?: ExtendTerms): Promise<number>;
  /** Releases, and returns whether there was anything to free. */
  release(owner: string, resources: Resources, terms?: ReleaseTerms): Promise<boolean>;
  /** Releases, fails unless that freed something, and returns the waiter that the reply names. */
  free(owner: string, resources: Resources, terms?: ReleaseTerms): Promise<string | undefined>;
  /** Only where the node offers it. */
  inspect(resource: string): Promise<NodeView>;
  /** Only where the node offers it. */
  watch(resources: Resources, onReleased: (resource: string, next?: string) => void): Promise<Unwatch>;
}

/** An owner that no claim has had: for claims whose owner does not matter to the test. */
export function freshOwner(): string {
  return crypto.randomUUID();
}

/** Puts a node into the hands of a test. */
export function clientOf(node: LockNode, timeoutMs: number): Client {
  /** Names the call that rejected or hangs: the error is the adapter's own, and need not say. */
  const answer = async <T>(method: string, call: () => Promise<T>): Promise<T> => {
    try {
      return await within(timeoutMs, method, call());
    } catch (cause) {
      throw new Error(`${method} rejected, and a rejection is a failure, never an answer: ${cause}`, { cause });
    }
  };
  const release = async (owner: string, resources: Resources, terms?: ReleaseTerms): Promise<ReleaseReply> => {
    const request = Object.freeze({ ...requestOf(owner, resources, timeoutMs), ...terms });
    return readReleaseReply(await answer("release()", () => node.release(request)));
  };
  const client: Client = {
    node,
    async acquire(owner, resources, terms) {
      const request = { ...requestOf(owner, resources, timeoutMs), ttlMs: longMs, fenceHint: 1, ...terms };
      const reply = await answer("acquire()", () => node.acquire(Object.freeze(request)));
      return readAcquireReply(reply, request.resources);
    },
    async grant(owner, resources, terms) {
      const reply = await client.acquire(owner, resources, terms);
      if (!reply.granted) throw new Error(`acquire() denied ${say(resources)} to ${owner}: it must be granted`);
      return reply.fence;
    },
    async deny(owner, resources, terms) {
      const reply = await client.acquire(owner, resources, terms);
      if (reply.granted) throw new Error(`acquire() granted ${say(resources)} to ${owner}: it must be denied`);
      return reply.retryAfterMs;
    },
    async extend(owner, resources, { ttlMs = longMs, fence = 1, rejoin = false } = {}) {
      const request = Object.freeze({ ...requestOf(owner, resources, timeoutMs), ttlMs, fence, rejoin });
      return readExtendReply(await answer("extend()", () => node.extend(request)), fence);
    },
    async hold(owner, resources, terms) {
      const reply = await client.extend(owner, resources, terms);
      if (!reply.held) throw new Error(`extend() of ${say(resources)} by ${owner} answered not held: it must be held`);
      return reply.fence;
    },
    async release(owner, resources, terms) {
      return (await release(owner, resources, terms)).released;
    },
    async free(owner, resources, terms) {
      const { released, next } = await release(owner, resources, terms);
      if (!released) throw new Error(`release() of ${say(resources)} by ${owner} freed nothing: it must be freed`);
      return next;
    },
    async inspect(resource) {
      return readNodeView(await answer("inspect()", () => offered(node.inspect, "inspect").call(node, resource)));
    },
    async watch(resources, onReleased) {
      const names = sorted(resources);
      const unwatch = await answer("watch()", () => offered(node.watch, "watch").call(node, names, onReleased));
      if (typeof unwatch !== "function") throw new Error("watch() must resolve with the function that ends it");
      return unwatch;
    },
  };
  return client;
}

/** The order in which a request names its resources. Frozen, as they are the caller's and not the node's to change. */
function sorted(resources: Resources): readonly string[] {
  return Object.freeze(typeof resources === "string" ? [resources] : [...resources].sort());
}

function requestOf(owner: string, resources: Resources, timeoutMs: number) {
  return { resources: sorted(resources), owner, timeoutMs };
}

function offered<T>(method: T | undefined, name: string): T {
  if (method === undefined) throw new Error(`the node does not offer ${name}()`);
  return method;
}

function say(resources: Resources): string {
  return JSON.stringify(resources);
}
