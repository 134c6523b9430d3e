import type {
  AcquireReply,
  AcquireRequest,
  ExtendReply,
  ExtendRequest,
  Grant,
  LockNode,
  ReleaseReply,
} from "@holdfast/core/node";
import type { Attempt } from "../history/recorder.ts";
import type { ExchangeKind } from "../history/trace.ts";
import { type Asked, describeReply, describeRequest, type Method, outcomeOf } from "../report/describe-reply.ts";
import type { Remark } from "../report/timeline.ts";
import type { Fault } from "../scenario/fault.ts";
import type { ClientProcess } from "./client-process.ts";
import { type Exchange, Link } from "./link.ts";
import type { Network } from "./network.ts";
import { holdersIn, type NodeHost } from "./node-host.ts";
import { type InFlight, Traffic } from "./traffic.ts";
import { WatchConnection, type WatchFault } from "./watch-connection.ts";

type Reply = AcquireReply | ExtendReply | ReleaseReply;

/** The connection of one client to one node: to the client it is a `LockNode`, with a network behind it. */
export class Connection implements LockNode {
  readonly name: string;
  /** Missing if the client does not listen or the node cannot be watched. */
  readonly watch?: Required<LockNode>["watch"];
  readonly #client: ClientProcess;
  readonly #link: Link;
  readonly #parts: Parts;

  /**
   * @param client the client that sends requests
   * @param host the node that answers
   * @param network the network between them
   * @param faults the faults that strike messages of this connection
   * @param listens whether the client watches the node, if the node can be watched
   */
  constructor(client: ClientProcess, host: NodeHost, network: Network, faults: readonly Fault[], listens = true) {
    this.name = host.name;
    this.#client = client;
    this.#link = new Link(client, host, network, faults);
    const traffic = new Traffic(client.name, host.name, () => client.nowMs);
    network.recorder.traffic.push(traffic);
    this.#parts = { host, network, traffic };
    if (listens && host.isWatchable)
      this.watch = new WatchConnection(client, host, network, faults.filter(isOfWatching)).watch;
  }

  acquire: LockNode["acquire"] = (request) => this.#send("acquire", request);
  extend: LockNode["extend"] = (request) => this.#send("extend", request);
  release: LockNode["release"] = (request) => this.#send("release", request);

  #send<Answer>(method: Method, asked: Asked): Promise<Answer> {
    const client = this.#client;
    client.step();
    const { network, traffic } = this.#parts;
    const { recorder, waiterNames } = network;
    const { waiter } = asked;
    const request = waiter === undefined ? asked : { ...asked, waiter: waiterNames.nameOf(waiter, client.name) };
    const attempt = recorder.attemptOf(request, client);
    if (method === "release") recorder.givesUp(request.owner, client);
    if ("ttlMs" in request) recorder.tracer?.asks(request.owner, attempt.name, Number(request.ttlMs), client);
    const inFlight = traffic.send(method, request.owner, asked.timeoutMs);
    const reply = this.#link.send(new LockExchange(method, request, attempt, inFlight, this.#parts));
    return reply as Promise<unknown> as Promise<Answer>;
  }
}

/** What a connection and its exchanges share. */
interface Parts {
  readonly host: NodeHost;
  readonly network: Network;
  readonly traffic: Traffic;
}

/** A lock request in the world. An object of methods: one of closures would take a fifth of a simulation's time. */
class LockExchange implements Exchange<Reply> {
  readonly kind: ExchangeKind;
  readonly attempt: string;
  readonly outcome = outcomeOf;
  readonly #method: Method;
  readonly #request: Asked;
  readonly #attempt: Attempt;
  readonly #inFlight: InFlight;
  readonly #parts: Parts;

  constructor(method: Method, request: Asked, attempt: Attempt, inFlight: InFlight, parts: Parts) {
    this.kind = request.undo ? "undo" : method;
    this.attempt = attempt.name;
    this.#method = method;
    this.#request = request;
    this.#attempt = attempt;
    this.#inFlight = inFlight;
    this.#parts = parts;
  }

  request(): string {
    return describeRequest(this.#method, this.#request, this.#attempt);
  }

  task(): string {
    return `${this.#method} ${this.attempt}`;
  }

  ask(node: LockNode): Promise<Reply> {
    return node[this.#method](this.#request as never) as Promise<Reply>;
  }

  departs(): void {
    const { host, network } = this.#parts;
    for (const owner of ownersOf(this.#request)) network.recorder.departs(owner, host.name);
  }

  arrives(): void {
    const { host, network } = this.#parts;
    for (const owner of ownersOf(this.#request)) network.recorder.arrives(owner, host.name);
    this.#inFlight.isAnswered = true;
  }

  settles(): void {
    this.#parts.traffic.settles(this.#inFlight);
  }

  excuse(): void {
    const { host, network } = this.#parts;
    for (const owner of ownersOf(this.#request)) network.recorder.excuse(owner, host.name);
  }

  replied(reply: Reply): void {
    if (isDenial(reply)) void this.#reportHolders();
    this.#noteStale(reply);
  }

  describe(reply: Reply): Remark {
    return describeReply(reply, this.attempt);
  }

  answered(): void {
    const { host, network } = this.#parts;
    const end = this.#method === "release" ? "released" : "taken over";
    network.recorder.tracer?.look(host, network.world.nowMs, end, this.#request.resources);
  }

  refused(reason: unknown): void {
    this.#parts.network.recorder.refused(this.#request.owner, reason);
  }

  /** The reply with the waiter names that the client's core uses. */
  read(reply: Reply): Reply {
    const { traffic, network } = this.#parts;
    const { owner, shared = false, fenceHint } = this.#request as Asked & Partial<AcquireRequest>;
    if (!shared && (reply as Partial<Grant>).fence === fenceHint) traffic.readsPlainGrant(owner);
    const next = (reply as Partial<ReleaseReply> | undefined)?.next;
    return next === undefined ? reply : { ...reply, next: network.waiterNames.waiterOf(next) };
  }

  /** Notes a shared claim that was requested before the node lost its counters, and that it has granted since. */
  #noteStale(reply: Reply): void {
    const { host, network } = this.#parts;
    const { lostAtMs } = host;
    const { resources, shared = false, fence: extended = 0 } = this.#request as Asked & Partial<ExtendRequest>;
    const { startedAtMs: requestedAtMs } = this.#attempt;
    if (!shared || lostAtMs === undefined || requestedAtMs >= lostAtMs || !isNewClaim(reply)) return;
    const { fence = extended } = reply as Partial<Grant>;
    network.recorder.staleClaims.push({ resources, requestedAtMs, lostAtMs, grantedAtMs: network.world.nowMs, fence });
  }

  /** Reports the owners that made the node deny a request. */
  async #reportHolders(): Promise<void> {
    const { host, network } = this.#parts;
    const { node } = host;
    for (const resource of this.#request.resources) {
      const view = await node.inspect?.(resource);
      for (const owner of holdersIn(view)) network.recorder.blocks(owner, host.name, network.world.nowMs);
    }
  }
}

/** The owners whose claims a request may end or leave behind: a takeover also releases the predecessor's claim. */
function ownersOf({ owner, takeover }: Asked): string[] {
  return takeover === undefined ? [owner] : [owner, takeover];
}

function isOfWatching(fault: Fault): fault is WatchFault {
  return "notification" in fault || "watch" in fault;
}

/** Whether a node replies that it has granted a claim, or that an extension has made it again. */
function isNewClaim(reply: Reply): boolean {
  const { granted = false, rejoined = false } = (reply ?? {}) as { granted?: boolean; rejoined?: boolean };
  return granted || rejoined;
}

function isDenial(reply: Reply): boolean {
  return typeof reply === "object" && reply !== null && "granted" in reply && !reply.granted;
}
