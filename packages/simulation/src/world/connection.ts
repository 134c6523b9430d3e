import type { AcquireReply, ExtendReply, LockNode, ReleaseReply } from "@holdfast/core";
import { type Asked, describeReply, describeRequest, type Method } from "../report/describe-reply.ts";
import type { Remark } from "../report/timeline.ts";
import type { Dice } from "../scenario/dice.ts";
import type { Fault, LateMessage, LostMessage, RepeatedMessage } from "../scenario/fault.ts";
import type { ClientProcess } from "./client-process.ts";
import { type Network, Wire } from "./network.ts";
import { holdersIn, type NodeHost } from "./node-host.ts";
import { type InFlight, Traffic } from "./traffic.ts";
import { WatchConnection, type WatchFault } from "./watch-connection.ts";
import { phase } from "./world.ts";

type PerMessage = LostMessage | LateMessage | RepeatedMessage;

type Reply = AcquireReply | ExtendReply | ReleaseReply;

/** A request in flight, and the promise of its reply. */
interface Sent {
  readonly number: number;
  readonly method: Method;
  readonly request: Asked;
  /** How often the node had crashed when it was sent; undefined for a repeated message, which survives restarts. */
  readonly life: number | undefined;
  readonly faults: readonly PerMessage[];
  readonly dice: Dice;
  readonly inFlight: InFlight;
  readonly resolve: (reply: never) => void;
  readonly reject: (reason: Error) => void;
}

/** The connection of one client to one node: to the client it is a `LockNode`, with a network behind it. */
export class Connection implements LockNode {
  readonly name: string;
  /** Missing if the client does not listen or the node cannot be watched. */
  readonly watch?: Required<LockNode>["watch"];
  readonly #client: ClientProcess;
  readonly #host: NodeHost;
  readonly #network: Network;
  readonly #faults = new Map<number, readonly PerMessage[]>();
  readonly #dice: Dice;
  readonly #toNode: Wire;
  readonly #toClient: Wire;
  readonly #traffic: Traffic;
  #requests = 0;

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
    this.#dice = client.dice.fork(host.name);
    this.#toNode = new Wire(network);
    this.#toClient = new Wire(network);
    this.#traffic = new Traffic(client.name, host.name, () => client.nowMs);
    network.recorder.traffic.push(this.#traffic);
    if (listens && host.isWatchable)
      this.watch = new WatchConnection(client, host, network, faults.filter(isOfWatching)).watch;
    for (const fault of faults) {
      if (!("message" in fault)) continue;
      const others = this.#faults.get(fault.message) ?? [];
      this.#faults.set(fault.message, [...others, fault]);
    }
  }

  acquire: LockNode["acquire"] = (request) => this.#send("acquire", request);
  extend: LockNode["extend"] = (request) => this.#send("extend", request);
  release: LockNode["release"] = (request) => this.#send("release", request);

  #send<Answer>(method: Method, asked: Asked): Promise<Answer> {
    const client = this.#client;
    client.step();
    const number = ++this.#requests;
    const { recorder, waiterNames } = this.#network;
    const { waiter } = asked;
    const request = waiter === undefined ? asked : { ...asked, waiter: waiterNames.nameOf(waiter, client.name) };
    const attempt = recorder.attemptOf(request, client);
    if (method === "release") recorder.givesUp(request.owner, client);
    recorder.log(client.nowMs, client.name, () => {
      return { attempt: attempt.name, to: this.name, what: describeRequest(method, request, attempt) };
    });
    return new Promise((resolve, reject) => {
      const faults = this.#network.isCalm ? [] : (this.#faults.get(number) ?? []);
      const life = this.#host.lives;
      const inFlight = this.#traffic.send(asked.timeoutMs, method !== "extend");
      const dice = this.#dice.fork(number);
      const sent: Sent = { number, method, request, life, faults, dice, inFlight, resolve, reject };
      if (!this.#isLost(sent, "request")) this.#transmit(client.nowMs, sent);
      for (const fault of faults) {
        if (fault.kind !== "repeated message") continue;
        this.#network.struck(fault);
        this.#excuse(sent);
        this.#transmit(client.nowMs + fault.afterMs, { ...sent, life: undefined });
      }
    });
  }

  /** Sends the request over the network. The node that is running when it arrives answers it. */
  #transmit(departsMs: number, sent: Sent): void {
    const { world } = this.#network;
    const atMs = this.#toNode.carry(departsMs, this.#delayMs(sent, "request"), sent.life === undefined);
    for (const owner of ownersOf(sent)) this.#network.recorder.departs(owner, this.name);
    world.at(atMs, phase.input, () => {
      if (this.#isAway(sent)) return;
      const { node } = this.#host;
      new Promise<Reply>((resolve) => resolve(node[sent.method](sent.request as never) as Promise<Reply>)).then(
        (reply) => {
          if (isDenial(reply)) void this.#reportHolders(sent.request);
          this.#log(() => ({ from: this.name, ...describeReply(reply, this.#attemptOf(sent)) }));
          this.#answer(sent, () => sent.resolve(this.#asClientSees(reply) as never));
        },
        (reason) => {
          this.#log(() => `fails to ${sent.method} ${this.#attemptOf(sent)}: ${reason}`);
          this.#answer(sent, () => sent.reject(reason));
        },
      );
    });
  }

  /** The reply with the waiter names that the client's core uses. */
  #asClientSees(reply: Reply): Reply {
    const next = (reply as Partial<ReleaseReply> | undefined)?.next;
    return next === undefined ? reply : { ...reply, next: this.#network.waiterNames.waiterOf(next) };
  }

  /** Whether the node is down, or has crashed since the request was sent: the request is then lost. */
  #isAway(sent: Sent): boolean {
    const host = this.#host;
    const hasCrashed = sent.life !== undefined && sent.life !== host.lives;
    if (!host.isDown && !hasCrashed) return false;
    this.#log(() => `does not get the request to ${sent.method} ${this.#attemptOf(sent)}`);
    this.#excuse(sent);
    if (!host.isSilent) this.#answer(sent, () => sent.reject(new Error("connection refused")));
    return true;
  }

  #answer(sent: Sent, arrive: () => void): void {
    if (this.#isLost(sent, "reply")) return;
    const atMs = this.#toClient.carry(this.#network.world.nowMs, this.#delayMs(sent, "reply"));
    this.#client.receive(atMs, () => {
      for (const owner of ownersOf(sent)) this.#network.recorder.arrives(owner, this.name);
      sent.inFlight.isAnswered = true;
      arrive();
    });
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

  #isLost(sent: Sent, part: "request" | "reply"): boolean {
    const parts = part === "request" ? "requests" : "replies";
    const fault = sent.faults.find((candidate) => candidate.kind === "lost message" && candidate.part === part);
    if (fault !== undefined) this.#network.struck(fault);
    const isLost = fault !== undefined || this.#network.isCut(this.#client.name, this.name, parts);
    if (isLost) this.#excuse(sent);
    return isLost;
  }

  #delayMs(sent: Sent, part: "request" | "reply"): number {
    const [least, most] = this.#network.latencyMs;
    let delayMs = sent.dice.between(least, most);
    for (const fault of sent.faults) {
      if (fault.kind !== "late message" || fault.part !== part) continue;
      this.#network.struck(fault);
      delayMs += fault.byMs;
    }
    return delayMs;
  }

  #excuse(sent: Sent): void {
    for (const owner of ownersOf(sent)) this.#network.recorder.excuse(owner, this.name);
  }

  #attemptOf({ request }: Sent): string {
    return this.#network.recorder.attemptOf(request, this.#client).name;
  }

  #log(remark: () => Remark | string): void {
    const { recorder, world } = this.#network;
    recorder.log(world.nowMs, `node ${this.name}`, remark);
  }
}

/** The owners whose claims a request may end or leave behind: a takeover also releases the predecessor's claim. */
function ownersOf({ request: { owner, takeover } }: Sent): string[] {
  return takeover === undefined ? [owner] : [owner, takeover];
}

function isOfWatching(fault: Fault): fault is WatchFault {
  return "notification" in fault || "watch" in fault;
}

function isDenial(reply: Reply): boolean {
  return typeof reply === "object" && reply !== null && "granted" in reply && !reply.granted;
}
