import type {
  AcquireReply,
  AcquireRequest,
  ExtendReply,
  ExtendRequest,
  Grant,
  LockNode,
  ReleaseReply,
} from "@holdfast/core";
import { type Asked, describeReply, describeRequest, type Method, outcomeOf } from "../report/describe-reply.ts";
import type { Fault } from "../scenario/fault.ts";
import type { ClientProcess } from "./client-process.ts";
import { Link } from "./link.ts";
import type { Network } from "./network.ts";
import { holdersIn, type NodeHost } from "./node-host.ts";
import { Traffic } from "./traffic.ts";
import { WatchConnection, type WatchFault } from "./watch-connection.ts";

type Reply = AcquireReply | ExtendReply | ReleaseReply;

/** The connection of one client to one node: to the client it is a `LockNode`, with a network behind it. */
export class Connection implements LockNode {
  readonly name: string;
  /** Missing if the client does not listen or the node cannot be watched. */
  readonly watch?: Required<LockNode>["watch"];
  readonly #client: ClientProcess;
  readonly #host: NodeHost;
  readonly #network: Network;
  readonly #link: Link;
  readonly #traffic: Traffic;

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
    this.#host = host;
    this.#network = network;
    this.#link = new Link(client, host, network, faults);
    this.#traffic = new Traffic(client.name, host.name, () => client.nowMs);
    network.recorder.traffic.push(this.#traffic);
    if (listens && host.isWatchable)
      this.watch = new WatchConnection(client, host, network, faults.filter(isOfWatching)).watch;
  }

  acquire: LockNode["acquire"] = (request) => this.#send("acquire", request);
  extend: LockNode["extend"] = (request) => this.#send("extend", request);
  release: LockNode["release"] = (request) => this.#send("release", request);

  #send<Answer>(method: Method, asked: Asked): Promise<Answer> {
    const client = this.#client;
    client.step();
    const { recorder, waiterNames } = this.#network;
    const { waiter } = asked;
    const request = waiter === undefined ? asked : { ...asked, waiter: waiterNames.nameOf(waiter, client.name) };
    const attempt = recorder.attemptOf(request, client);
    if (method === "release") recorder.givesUp(request.owner, client);
    if ("ttlMs" in request) recorder.tracer?.asks(request.owner, attempt.name, Number(request.ttlMs), client);
    const inFlight = this.#traffic.send(method, request.owner, asked.timeoutMs);
    const forEachOwner = (note: (owner: string, node: string) => void): void => {
      for (const owner of ownersOf(request)) note(owner, this.name);
    };
    const reply = this.#link.send<Reply>({
      ...{ kind: request.undo ? "undo" : method, attempt: attempt.name },
      request: () => describeRequest(method, request, attempt),
      task: () => `${method} ${attempt.name}`,
      ask: (node) => node[method](request as never) as Promise<Reply>,
      departs: () => forEachOwner((owner, node) => recorder.departs(owner, node)),
      arrives: () => {
        forEachOwner((owner, node) => recorder.arrives(owner, node));
        inFlight.isAnswered = true;
      },
      settles: () => this.#traffic.settles(inFlight),
      excuse: () => forEachOwner((owner, node) => recorder.excuse(owner, node)),
      replied: (answer) => {
        if (isDenial(answer)) void this.#reportHolders(request);
        this.#noteStale(request, answer, attempt.startedAtMs);
      },
      describe: (answer) => describeReply(answer, attempt.name),
      outcome: outcomeOf,
      answered: () =>
        recorder.tracer?.look(
          this.#host,
          this.#network.world.nowMs,
          method === "release" ? "released" : "taken over",
          request.resources,
        ),
      refused: (reason) => recorder.refused(request.owner, reason),
      read: (answer) => {
        const { shared = false, fenceHint } = request as Partial<AcquireRequest>;
        if (!shared && (answer as Partial<Grant>).fence === fenceHint) this.#traffic.readsPlainGrant(request.owner);
        return this.#asClientSees(answer);
      },
    });
    return reply as Promise<Answer>;
  }

  /** The reply with the waiter names that the client's core uses. */
  #asClientSees(reply: Reply): Reply {
    const next = (reply as Partial<ReleaseReply> | undefined)?.next;
    return next === undefined ? reply : { ...reply, next: this.#network.waiterNames.waiterOf(next) };
  }

  /** Notes a shared claim that was requested before the node lost its counters, and that it has granted since. */
  #noteStale({ resources, ...request }: Asked, reply: Reply, requestedAtMs: number): void {
    const { lostAtMs } = this.#host;
    const { shared = false, fence: extended = 0 } = request as Partial<AcquireRequest & ExtendRequest>;
    if (!shared || lostAtMs === undefined || requestedAtMs >= lostAtMs || !isNewClaim(reply)) return;
    const { fence = extended } = reply as Partial<Grant>;
    const grantedAtMs = this.#network.world.nowMs;
    this.#network.recorder.staleClaims.push({ resources, requestedAtMs, lostAtMs, grantedAtMs, fence });
  }

  /** Reports the owners that made the node deny a request. */
  async #reportHolders({ resources }: Asked): Promise<void> {
    const { node } = this.#host;
    const { recorder, world } = this.#network;
    for (const resource of resources) {
      const view = await node.inspect?.(resource);
      for (const owner of holdersIn(view)) recorder.blocks(owner, this.name, world.nowMs);
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
