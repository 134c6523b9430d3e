import type { AcquireReply, ExtendReply, LockNode, ReleaseReply } from "@holdfast/core";
import { type Asked, describeReply, describeRequest, type Method } from "../report/describe-reply.ts";
import type { Remark } from "../report/timeline.ts";
import type { Dice } from "../scenario/dice.ts";
import type { Fault, LateMessage, LostMessage, RepeatedMessage } from "../scenario/fault.ts";
import type { ClientProcess } from "./client-process.ts";
import { type Network, Wire } from "./network.ts";
import type { NodeHost } from "./node-host.ts";
import { type InFlight, Traffic } from "./traffic.ts";
import { WatchConnection, type WatchFault } from "./watch-connection.ts";
import { turn } from "./world.ts";

type PerMessage = LostMessage | LateMessage | RepeatedMessage;

type Reply = AcquireReply | ExtendReply | ReleaseReply;

/** One request on its way, and where its answer goes. */
interface Sent {
  readonly number: number;
  readonly method: Method;
  readonly request: Asked;
  /** The life of the node to which it was sent; undefined if it was sent again, and reaches whoever is there. */
  readonly life: number | undefined;
  readonly faults: readonly PerMessage[];
  readonly dice: Dice;
  readonly inFlight: InFlight;
  readonly resolve: (reply: never) => void;
  readonly reject: (reason: Error) => void;
}

/** The connection of one client to one node: a lock node to the client, and a network in between. */
export class Connection implements LockNode {
  readonly name: string;
  /** Only where the node has it. */
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
   * @param client who asks
   * @param host who is asked
   * @param network what is between them
   * @param faults those that strike messages of this connection
   * @param listens whether the client watches the node, if it can
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
    recorder.tell(client.nowMs, client.name, () => {
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

  /** The request travels, and is answered by the node that is there when it arrives. */
  #transmit(departsMs: number, sent: Sent): void {
    const { world } = this.#network;
    const atMs = this.#toNode.carry(departsMs, this.#delayMs(sent, "request"), sent.life === undefined);
    for (const owner of ownersOf(sent)) this.#network.recorder.departs(owner, this.name);
    world.at(atMs, turn.input, () => {
      if (this.#isAway(sent)) return;
      const { node } = this.#host;
      new Promise<Reply>((resolve) => resolve(node[sent.method](sent.request as never) as Promise<Reply>)).then(
        (reply) => {
          if (isDenial(reply)) void this.#lookInTheWay(sent.request);
          this.#tell(() => ({ from: this.name, ...describeReply(reply, this.#attemptOf(sent)) }));
          this.#answer(sent, () => sent.resolve(this.#toldToClient(reply) as never));
        },
        (reason) => {
          this.#tell(() => `fails to ${sent.method} ${this.#attemptOf(sent)}: ${reason}`);
          this.#answer(sent, () => sent.reject(reason));
        },
      );
    });
  }

  /** A reply as the client gets it, which knows waiters by names of its own. */
  #toldToClient(reply: Reply): Reply {
    const next = (reply as Partial<ReleaseReply> | undefined)?.next;
    return next === undefined ? reply : { ...reply, next: this.#network.waiterNames.waiterOf(next) };
  }

  /** Whether the node is away, or was since the request was sent: then it does not hear of it. */
  #isAway(sent: Sent): boolean {
    const host = this.#host;
    const hasCrashed = sent.life !== undefined && sent.life !== host.lives;
    if (!host.isDown && !hasCrashed) return false;
    this.#tell(() => `does not get the request to ${sent.method} ${this.#attemptOf(sent)}`);
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

  /** Who it is that the node refuses somebody for. */
  async #lookInTheWay({ resources }: Asked): Promise<void> {
    const { node } = this.#host;
    const { recorder, world } = this.#network;
    for (const resource of resources) {
      const view = await node.inspect?.(resource);
      if (view?.owner) recorder.inTheWay(view.owner, this.name, world.nowMs);
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

  #tell(remark: () => Remark | string): void {
    const { recorder, world } = this.#network;
    recorder.tell(world.nowMs, `node ${this.name}`, remark);
  }
}

/** Whose claims a request may end or leave behind: what takes over from somebody is the release of that claim, too. */
function ownersOf({ request: { owner, takeover } }: Sent): string[] {
  return takeover === undefined ? [owner] : [owner, takeover];
}

function isOfWatching(fault: Fault): fault is WatchFault {
  return "notification" in fault || "watch" in fault;
}

function isDenial(reply: Reply): boolean {
  return typeof reply === "object" && reply !== null && "granted" in reply && !reply.granted;
}
