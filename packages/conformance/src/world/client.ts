import type { AcquireReply, ExtendReply, LockNode, NodeView, Unwatch } from "@holdfast/core";
import { type CallSite, callSiteOf, errorAt, rejectionAt } from "../mistake.ts";
import { minuteMs } from "./durations.ts";
import { readAcquireReply, readExtendReply, readNodeView, readReleaseReply } from "./replies.ts";
import { within } from "./within.ts";

/** A ttl that does not end during a test, even on a slow machine. */
export const longMs: number = 10 * minuteMs;

/** The term of a claim that may be in force together with other such claims. */
export const shared = { shared: true } as const;

/** One resource or several. */
export type Resources = string | readonly string[];

/** Optional parts of a claim. Default: `longMs`, and a hint below every counter. */
export interface ClaimTerms {
  readonly ttlMs?: number;
  readonly fenceHint?: number;
  readonly takeover?: string;
  readonly shared?: boolean;
  readonly waiter?: string;
}

/** Optional parts of an extension. Default: `longMs`, a fence below every counter, no rejoin. */
export interface ExtendTerms {
  readonly ttlMs?: number;
  readonly fence?: number;
  readonly rejoin?: boolean;
  readonly shared?: boolean;
}

/** Optional parts of a release. Default: none. */
export interface ReleaseTerms {
  readonly waiter?: string;
  readonly undo?: boolean;
}

/**
 * A node as tests use it: requests are well-formed, and every reply is validated before use. A failure points at the
 * line that made the call, and names the likely mistake.
 */
export interface Client {
  readonly node: LockNode;
  acquire(owner: string, resources: Resources, terms?: ClaimTerms): Promise<AcquireReply>;
  /** Acquires, fails unless that is granted, and returns the fence. */
  grant(owner: string, resources: Resources, terms?: ClaimTerms, mistake?: string): Promise<number>;
  /** Acquires, fails unless that is denied, and returns the `retryAfterMs` of the reply. */
  deny(owner: string, resources: Resources, terms?: ClaimTerms, mistake?: string): Promise<number | undefined>;
  extend(owner: string, resources: Resources, terms?: ExtendTerms): Promise<ExtendReply>;
  /** Extends, fails unless the claim is held, and returns the fence. */
  hold(owner: string, resources: Resources, terms?: ExtendTerms, mistake?: string): Promise<number>;
  /** Releases, and returns whether that freed anything. */
  release(owner: string, resources: Resources, terms?: ReleaseTerms): Promise<boolean>;
  /** Releases, fails unless that freed something, and returns the waiter that the reply names. */
  free(owner: string, resources: Resources, terms?: ReleaseTerms, mistake?: string): Promise<string | undefined>;
  /** Fails if the node does not offer it. */
  inspect(resource: string): Promise<NodeView>;
  /** Fails if the node does not offer it. */
  watch(resources: Resources, onReleased: (resource: string, next?: string) => void): Promise<Unwatch>;
  /** Fails if the node does not offer it. */
  close(): Promise<void>;
}

/** Returns an unused owner, for claims whose owner does not matter to the test. */
export function freshOwner(): string {
  return crypto.randomUUID();
}

/** The likely mistakes if a test does not name one. */
const mistakes = {
  denied: "the node does not free claims that have ended, or confuses two names or owners",
  granted: "two owners hold one resource",
  notHeld: "a claim was lost before its end, or belongs to another owner",
  nothingFreed: "a claim was lost before its release",
};

/** Returns an error that names a mistake: that of the test if it names one, and otherwise the usual one. */
function failed(site: CallSite, usual: string, result: string, mistake: string | undefined): Error {
  return mistake === undefined ? errorAt(site, `${usual}: ${result}`) : errorAt(site, result, mistake);
}

/** Wraps a node for a test. */
export function clientOf(node: LockNode, timeoutMs: number): Client {
  /** Names the call that rejected or timed out, as the adapter's own error may not. */
  const answer = async <T>(site: CallSite, method: string, call: () => Promise<T>): Promise<T> => {
    try {
      return await within(timeoutMs, method, Promise.resolve().then(call));
    } catch (cause) {
      throw rejectionAt(site, `${method} rejected, and a rejection is a failure, never a reply: ${cause}`, cause);
    }
  };
  /** Reads a reply. An error of the reader points at the call. */
  const read = <T>(site: CallSite, reader: () => T): T => {
    try {
      return reader();
    } catch (error) {
      throw errorAt(site, (error as Error).message);
    }
  };
  const acquire = async (site: CallSite, owner: string, resources: Resources, terms?: ClaimTerms) => {
    const request = { ...requestOf(owner, resources, timeoutMs), ttlMs: longMs, fenceHint: 1, ...terms };
    const reply = await answer(site, "acquire()", () => node.acquire(Object.freeze(request)));
    return read(site, () => readAcquireReply(reply, request.resources));
  };
  const extend = async (site: CallSite, owner: string, resources: Resources, terms: ExtendTerms = {}) => {
    const { fence = 1 } = terms;
    const request = { ...requestOf(owner, resources, timeoutMs), ttlMs: longMs, fence, rejoin: false, ...terms };
    const reply = await answer(site, "extend()", () => node.extend(Object.freeze(request)));
    return read(site, () => readExtendReply(reply, fence));
  };
  const release = async (site: CallSite, owner: string, resources: Resources, terms?: ReleaseTerms) => {
    const request = Object.freeze({ ...requestOf(owner, resources, timeoutMs), ...terms });
    const reply = await answer(site, "release()", () => node.release(request));
    return read(site, () => readReleaseReply(reply));
  };
  const client: Client = {
    node,
    async acquire(owner, resources, terms) {
      return acquire(callSiteOf(client.acquire), owner, resources, terms);
    },
    async grant(owner, resources, terms, mistake) {
      const site = callSiteOf(client.grant);
      const reply = await acquire(site, owner, resources, terms);
      if (reply.granted) return reply.fence;
      throw failed(
        site,
        mistakes.denied,
        `acquire() denied ${say(resources)} to ${say(owner)}, but must grant it`,
        mistake,
      );
    },
    async deny(owner, resources, terms, mistake) {
      const site = callSiteOf(client.deny);
      const reply = await acquire(site, owner, resources, terms);
      if (!reply.granted) return reply.retryAfterMs;
      throw failed(
        site,
        mistakes.granted,
        `acquire() granted ${say(resources)} to ${say(owner)}, but must deny it`,
        mistake,
      );
    },
    async extend(owner, resources, terms) {
      return extend(callSiteOf(client.extend), owner, resources, terms);
    },
    async hold(owner, resources, terms, mistake) {
      const site = callSiteOf(client.hold);
      const reply = await extend(site, owner, resources, terms);
      if (reply.held) return reply.fence;
      const answered = reply.rejoined ? "rejoined" : "not held";
      const result = `extend() of ${say(resources)} by ${say(owner)} returned ${answered}, but must return held`;
      throw failed(site, mistakes.notHeld, result, mistake);
    },
    async release(owner, resources, terms) {
      return (await release(callSiteOf(client.release), owner, resources, terms)).released;
    },
    async free(owner, resources, terms, mistake) {
      const site = callSiteOf(client.free);
      const { released, next } = await release(site, owner, resources, terms);
      if (released) return next;
      throw failed(
        site,
        mistakes.nothingFreed,
        `release() of ${say(resources)} by ${say(owner)} freed nothing`,
        mistake,
      );
    },
    async inspect(resource) {
      const site = callSiteOf(client.inspect);
      const view = await answer(site, "inspect()", () => offered(node.inspect, "inspect").call(node, resource));
      return read(site, () => readNodeView(view));
    },
    async watch(resources, onReleased) {
      const site = callSiteOf(client.watch);
      const names = sorted(resources);
      const unwatch = await answer(site, "watch()", () => offered(node.watch, "watch").call(node, names, onReleased));
      if (typeof unwatch !== "function") throw errorAt(site, "watch() must resolve with the function that ends it");
      return unwatch;
    },
    async close() {
      const site = callSiteOf(client.close);
      await answer(site, "close()", async () => offered(node.close, "close").call(node));
    },
  };
  return client;
}

/** Sorts resources as requests must. Frozen, because a node must not change its caller's list. */
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

/** Formats resources or an owner for a message, and truncates long ones. */
function say(names: Resources): string {
  const text = JSON.stringify(names);
  return text.length > 200 ? `${text.slice(0, 150)}… (${text.length} characters)` : text;
}
