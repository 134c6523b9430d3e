import type { LockNode } from "@holdfast/core";
import type { Remark } from "../report/timeline.ts";
import type { Dice } from "../scenario/dice.ts";
import type { Fault, LateMessage, LostMessage, RepeatedMessage } from "../scenario/fault.ts";
import type { ClientProcess } from "./client-process.ts";
import { type Network, Wire } from "./network.ts";
import type { NodeHost } from "./node-host.ts";
import { phase } from "./world.ts";

type PerMessage = LostMessage | LateMessage | RepeatedMessage;

/** A request to a node, and what to do at each point of its way. */
export interface Exchange<Reply> {
  /** Describes the request, as a continuation of "fails to". */
  readonly what: () => string;
  /** Asks the node. */
  ask(node: LockNode): Promise<Reply>;
  /** Called when a copy of the request leaves. */
  departs?(): void;
  /** Called when the reply reaches the client. */
  arrives?(): void;
  /** Called when a message is lost, or sent twice. */
  excuse?(): void;
  /** Called at the node with its reply. */
  replied?(reply: Reply): void;
  /** Describes the node's reply. */
  describe(reply: Reply): Remark | string;
  /** Returns the reply as the process sees it. Default: unchanged. */
  read?(reply: Reply): Reply;
  /** Called at the node if it rejects the request. */
  refused?(reason: unknown): void;
}

/** A request in flight, and the promise of its reply. */
interface Sent<Reply> {
  readonly exchange: Exchange<Reply>;
  /** How often the node had crashed when it was sent; undefined for a repeated message, which survives restarts. */
  readonly life: number | undefined;
  readonly faults: readonly PerMessage[];
  readonly dice: Dice;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (reason: unknown) => void;
}

/** The way of requests and replies between one process and one node. */
export class Link {
  readonly #client: ClientProcess;
  readonly #host: NodeHost;
  readonly #network: Network;
  readonly #faults = new Map<number, readonly PerMessage[]>();
  readonly #dice: Dice;
  readonly #toNode: Wire;
  readonly #toClient: Wire;
  #requests = 0;

  /**
   * @param client the process that sends requests
   * @param host the node that answers
   * @param network the network between them
   * @param faults the faults that strike messages on this way
   */
  constructor(client: ClientProcess, host: NodeHost, network: Network, faults: readonly Fault[]) {
    this.#client = client;
    this.#host = host;
    this.#network = network;
    this.#dice = client.dice.fork(host.name);
    this.#toNode = new Wire(network);
    this.#toClient = new Wire(network);
    for (const fault of faults) {
      if (!("message" in fault)) continue;
      const others = this.#faults.get(fault.message) ?? [];
      this.#faults.set(fault.message, [...others, fault]);
    }
  }

  /** Sends a request. Settles with the node's reply; never settles if a message is lost. */
  send<Reply>(exchange: Exchange<Reply>): Promise<Reply> {
    const number = ++this.#requests;
    const faults = this.#network.isCalm ? [] : (this.#faults.get(number) ?? []);
    return new Promise((resolve, reject) => {
      const { lives: life } = this.#host;
      const sent: Sent<Reply> = { exchange, life, faults, dice: this.#dice.fork(number), resolve, reject };
      const departsMs = this.#client.nowMs;
      if (!this.#isLost(sent, "request")) this.#transmit(departsMs, sent);
      for (const fault of faults) {
        if (fault.kind !== "repeated message") continue;
        this.#network.struck(fault);
        exchange.excuse?.();
        this.#transmit(departsMs + fault.afterMs, { ...sent, life: undefined });
      }
    });
  }

  /** Sends the request over the network. The node that is running when it arrives answers it. */
  #transmit<Reply>(departsMs: number, sent: Sent<Reply>): void {
    const { world } = this.#network;
    const { exchange } = sent;
    const atMs = this.#toNode.carry(departsMs, this.#delayMs(sent, "request"), sent.life === undefined);
    exchange.departs?.();
    world.at(atMs, phase.input, () => {
      if (this.#isAway(sent)) return;
      const { node } = this.#host;
      new Promise<Reply>((resolve) => resolve(exchange.ask(node))).then(
        (reply) => {
          exchange.replied?.(reply);
          this.#log(() => exchange.describe(reply));
          this.#answer(sent, () => sent.resolve(exchange.read?.(reply) ?? reply));
        },
        (reason) => {
          exchange.refused?.(reason);
          this.#log(() => `fails to ${exchange.what()}: ${reason}`);
          this.#answer(sent, () => sent.reject(reason));
        },
      );
    });
  }

  /** Whether the node is down, or has crashed since the request was sent: the request is then lost. */
  #isAway<Reply>(sent: Sent<Reply>): boolean {
    const host = this.#host;
    const hasCrashed = sent.life !== undefined && sent.life !== host.lives;
    if (!host.isDown && !hasCrashed) return false;
    this.#log(() => `does not get the request to ${sent.exchange.what()}`);
    sent.exchange.excuse?.();
    if (!host.isSilent) this.#answer(sent, () => sent.reject(new Error("connection refused")));
    return true;
  }

  #answer<Reply>(sent: Sent<Reply>, arrive: () => void): void {
    if (this.#isLost(sent, "reply")) return;
    const atMs = this.#toClient.carry(this.#network.world.nowMs, this.#delayMs(sent, "reply"));
    this.#client.receive(atMs, () => {
      sent.exchange.arrives?.();
      arrive();
    });
  }

  #isLost<Reply>(sent: Sent<Reply>, part: "request" | "reply"): boolean {
    const parts = part === "request" ? "requests" : "replies";
    const fault = sent.faults.find((candidate) => candidate.kind === "lost message" && candidate.part === part);
    if (fault !== undefined) this.#network.struck(fault);
    const isLost = fault !== undefined || this.#network.isCut(this.#client.name, this.#host.name, parts);
    if (isLost) sent.exchange.excuse?.();
    return isLost;
  }

  #delayMs<Reply>(sent: Sent<Reply>, part: "request" | "reply"): number {
    const [least, most] = this.#network.latencyMs;
    let delayMs = sent.dice.between(least, most);
    for (const fault of sent.faults) {
      if (fault.kind !== "late message" || fault.part !== part) continue;
      this.#network.struck(fault);
      delayMs += fault.byMs;
    }
    return delayMs;
  }

  #log(remark: () => Remark | string): void {
    const { recorder, world } = this.#network;
    recorder.log(world.nowMs, `node ${this.#host.name}`, remark);
  }
}
