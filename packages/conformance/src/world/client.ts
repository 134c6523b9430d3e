import { EpochError } from "@holdfast/core";
import type {
  AcquireReply,
  AcquireRequest,
  ExtendReply,
  ExtendRequest,
  Floor,
  LockNode,
  NodeView,
  ReleaseReply,
  ReleaseRequest,
  ScannedClaim,
  ScanPortion,
  ScanRequest,
  Unwatch,
} from "@holdfast/core/node";
import { named } from "../mistake.ts";
import { longMs } from "./durations.ts";
import {
  describe,
  readAcquireReply,
  readExtendReply,
  readFloor,
  readNodeView,
  readReleaseReply,
  readScanPortion,
  readUnwatch,
} from "./replies.ts";
import { within } from "./within.ts";

/** The term of a claim that may be in force together with other such claims. */
export const shared = { shared: true } as const;

/** One resource or several. */
export type Resources = string | readonly string[];

type Rest<Request> = Partial<Omit<Request, "resources" | "owner" | "timeoutMs">>;

/** Optional parts of a claim. Default: `longMs`, and a hint below every counter. */
export type ClaimTerms = Rest<AcquireRequest>;

/** Optional parts of an extension. Default: `longMs`, a fence below every counter, no rejoin. */
export type ExtendTerms = Rest<ExtendRequest>;

/** Optional parts of a release. Default: none. */
export type ReleaseTerms = Rest<ReleaseRequest>;

/** What a whole series of portions has read. */
export interface Scanned {
  /** How many counters the portions have read, some of them perhaps twice. */
  readonly counters: number;
  /** The highest counter. */
  readonly highest: number;
  /** The claims: one for each resource and owner, in ascending order, the one that was read last. */
  readonly claims: readonly ScannedClaim[];
  readonly portions: readonly ScanPortion[];
}

/** Returns an unused owner, for claims whose owner does not matter to the test. */
export function freshOwner(): string {
  return crypto.randomUUID();
}

/** How many portions a series may have. An endless one has more. */
const portionsMax = 1_000;

/** The likely mistakes if a test does not name one. */
const mistakes = {
  denied: "the node does not free claims that have ended, or confuses two names or owners",
  granted: "two owners hold one resource",
  notHeld: "a claim was lost before its end, or belongs to another owner",
  nothingFreed: "a claim was lost before its release",
  served: "the epoch of a request is not compared with the node's",
};

/** Returns an error that names a mistake: that of the test if it names one, and otherwise the usual one. */
function failed(usual: string, result: string, mistake: string | undefined): Error {
  return mistake === undefined ? new Error(`${usual}: ${result}`) : named(mistake, result);
}

/**
 * A node as tests use it: requests are well-formed, and every reply is validated before use. A failure names the
 * likely mistake.
 */
export class Client {
  readonly node: LockNode;
  readonly #timeoutMs: number;

  /**
   * @param node the node under test
   * @param timeoutMs how long a call may take, in milliseconds
   */
  constructor(node: LockNode, timeoutMs: number) {
    this.node = node;
    this.#timeoutMs = timeoutMs;
  }

  async acquire(owner: string, resources: Resources, terms?: ClaimTerms): Promise<AcquireReply> {
    const request = acquireRequestOf(owner, resources, this.#timeoutMs, terms);
    const call = () => this.node.acquire(request);
    return this.#answer("acquire()", call, (reply) => readAcquireReply(reply, request.resources));
  }

  /** Acquires, fails unless that is granted, and returns the fence. */
  async grant(owner: string, resources: Resources, terms?: ClaimTerms, mistake?: string): Promise<number> {
    const reply = await this.acquire(owner, resources, terms);
    if (reply.granted) return reply.fence;
    const result = `acquire() denied ${say(resources)} to ${say(owner)}, but must grant it`;
    throw failed(mistakes.denied, result, mistake);
  }

  /** Acquires, fails unless that is denied, and returns the `retryAfterMs` of the reply. */
  async deny(owner: string, resources: Resources, terms?: ClaimTerms, mistake?: string): Promise<number | undefined> {
    const reply = await this.acquire(owner, resources, terms);
    if (!reply.granted) return reply.retryAfterMs;
    const result = `acquire() granted ${say(resources)} to ${say(owner)}, but must deny it`;
    throw failed(mistakes.granted, result, mistake);
  }

  /** Acquires, and fails unless that rejects with an {@link EpochError}. */
  async refuse(owner: string, resources: Resources, terms?: ClaimTerms, mistake?: string): Promise<void> {
    const request = acquireRequestOf(owner, resources, this.#timeoutMs, terms);
    const call = Promise.resolve().then(() => this.node.acquire(request));
    const answered = await within(this.#timeoutMs, "acquire()", call).then(
      ({ granted }) => (granted ? "granted" : "denied"),
      (error) => (error instanceof EpochError ? undefined : `rejected with ${error}`),
    );
    if (answered === undefined) return;
    const result = `acquire() of epoch ${terms?.epoch ?? "1, which is the default,"} ${answered}`;
    throw failed(mistakes.served, `${result}, but must reject with an EpochError`, mistake);
  }

  async extend(owner: string, resources: Resources, terms: ExtendTerms = {}): Promise<ExtendReply> {
    const { fence = 1 } = terms;
    const request = { ...requestOf(owner, resources, this.#timeoutMs), ttlMs: longMs, fence, rejoin: false, ...terms };
    const call = () => this.node.extend(Object.freeze(request));
    return this.#answer("extend()", call, (reply) => readExtendReply(reply, fence));
  }

  /** Extends, fails unless the claim is held, and returns the fence. */
  async hold(owner: string, resources: Resources, terms?: ExtendTerms, mistake?: string): Promise<number> {
    const reply = await this.extend(owner, resources, terms);
    if (reply.held) return reply.fence;
    const answered = reply.rejoined ? "rejoined" : "not held";
    const result = `extend() of ${say(resources)} by ${say(owner)} returned ${answered}, but must return held`;
    throw failed(mistakes.notHeld, result, mistake);
  }

  /** Releases, and returns whether that freed anything. */
  async release(owner: string, resources: Resources, terms?: ReleaseTerms): Promise<boolean> {
    return (await this.#release(owner, resources, terms)).released;
  }

  /** Releases, fails unless that freed something, and returns the waiter that the reply names. */
  async free(owner: string, resources: Resources, terms?: ReleaseTerms, mistake?: string): Promise<string | undefined> {
    const { released, next } = await this.#release(owner, resources, terms);
    if (released) return next;
    const result = `release() of ${say(resources)} by ${say(owner)} freed nothing`;
    throw failed(mistakes.nothingFreed, result, mistake);
  }

  /** Fails if the node does not offer it. */
  async inspect(resource: string): Promise<NodeView> {
    const call = () => offered(this.node.inspect, "inspect").call(this.node, resource);
    return this.#answer("inspect()", call, readNodeView);
  }

  /** Raises the floor and the epoch, both by default to 0. Fails if the node does not offer it. */
  async raiseFloor({ floor = 0, epoch = 0 }: Partial<Floor> = {}): Promise<Floor> {
    const request = Object.freeze({ floor, epoch, timeoutMs: this.#timeoutMs });
    const call = () => offered(this.node.raiseFloor, "raiseFloor").call(this.node, request);
    return this.#answer("raiseFloor()", call, (reply) => readFloor(reply, request));
  }

  /** Reads one portion. Fails if the node does not offer it. */
  async scanPortion(cursor?: string, wants: Pick<ScanRequest, "claims"> = {}): Promise<ScanPortion> {
    const request = Object.freeze({ timeoutMs: this.#timeoutMs, ...wants, ...(cursor !== undefined && { cursor }) });
    return this.#answer("scan()", () => offered(this.node.scan, "scan").call(this.node, request), readScanPortion);
  }

  /** Reads all portions of a series. Fails if the node does not offer it, or if the series does not end. */
  async scan(wants: Pick<ScanRequest, "claims"> = {}): Promise<Scanned> {
    const portions: ScanPortion[] = [];
    for (let cursor: string | undefined; portions.length < portionsMax; ) {
      const portion = await this.scanPortion(cursor, wants);
      portions.push(portion);
      if (portion.cursor === undefined) return seriesOf(portions);
      cursor = portion.cursor;
    }
    throw named("the series of portions does not end", `scan() has not ended after ${portionsMax} portions`);
  }

  /** Fails if the node does not offer it. */
  async watch(resources: Resources, onReleased: (resource: string, next?: string) => void): Promise<Unwatch> {
    const names = sorted(resources);
    const call = () => offered(this.node.watch, "watch").call(this.node, names, onReleased);
    return this.#answer("watch()", call, readUnwatch);
  }

  /** Fails if the node does not offer it. */
  async close(): Promise<void> {
    const call = async () => offered(this.node.close, "close").call(this.node);
    await this.#answer("close()", call, () => {});
  }

  async #release(owner: string, resources: Resources, terms?: ReleaseTerms): Promise<ReleaseReply> {
    const request = Object.freeze({ ...requestOf(owner, resources, this.#timeoutMs), ...terms });
    return this.#answer("release()", () => this.node.release(request), readReleaseReply);
  }

  /** Makes a call and reads its reply. An error names the call, as the adapter's own error may not. */
  async #answer<T>(method: string, call: () => Promise<unknown>, read: (value: unknown) => T): Promise<T> {
    let value: unknown;
    try {
      value = await within(this.#timeoutMs, method, Promise.resolve().then(call));
    } catch (cause) {
      throw new Error(`${method} rejected, and a rejection is a failure, never a reply: ${cause}`, { cause });
    }
    try {
      return read(value);
    } catch (error) {
      throw new Error(`${method} resolved with ${describe(value)}: ${(error as Error).message}`);
    }
  }
}

function seriesOf(portions: readonly ScanPortion[]): Scanned {
  const read = portions.flatMap(({ claims }) => claims);
  const claims = new Map(read.map((claim) => [JSON.stringify([claim.resource, claim.owner]), claim]));
  return {
    counters: portions.reduce((sum, { counters }) => sum + counters, 0),
    highest: Math.max(...portions.map(({ highest }) => highest)),
    claims: [...claims].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, claim]) => claim),
    portions,
  };
}

/** Sorts resources as requests must. Frozen, because a node must not change its caller's list. */
function sorted(resources: Resources): readonly string[] {
  return Object.freeze(typeof resources === "string" ? [resources] : [...resources].sort());
}

function acquireRequestOf(owner: string, resources: Resources, timeoutMs: number, terms?: ClaimTerms): AcquireRequest {
  return Object.freeze({ ...requestOf(owner, resources, timeoutMs), ttlMs: longMs, fenceHint: 1, ...terms });
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
