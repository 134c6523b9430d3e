import type { LockNode } from "@holdfast/core";
import type { ExchangeKind, MessageTrace, ReplyOutcome } from "../history/trace.ts";
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
  readonly kind: ExchangeKind;
  /** The attempt that it belongs to, if any. */
  readonly attempt?: string;
  /** Describes the request, as a continuation of "asks A". */
  request(): string;
  /** Describes the request, as a continuation of "fails to". Default: the timeline does not show that it fails. */
  task?(): string;
  /** The source of random numbers for its messages. Default: one that depends on the number of the request. */
  readonly dice?: Dice;
  /** Whether it is lost on its way, whatever the network does. */
  readonly isLost?: boolean;
  /** Whether the node ignores it if the client has died by then, as it notices that the connection is closed. */
  readonly endsWithClient?: boolean;
  /** Asks the node. */
  ask(node: LockNode): Promise<Reply>;
  /** Called when a copy of the request leaves. */
  departs?(): void;
  /** Called when the reply reaches the client. */
  arrives?(): void;
  /** Called when the promise of the reply settles. */
  settles?(): void;
  /** Called when a message is lost, or sent twice. */
  excuse?(): void;
  /** Called at the node with its reply. */
  replied?(reply: Reply): void;
  /** Describes the node's reply. Default: the timeline does not show it. */
  describe?(reply: Reply): Remark;
  /** What the reply amounts to. Default: `done`. */
  outcome?(reply: Reply): ReplyOutcome;
  /** Called at the node when it has answered, or failed to. */
  answered?(): void;
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
  readonly departsMs: number;
  /** When the client sent it: before `departsMs` if it is a repeated message. */
  readonly sentAtMs: number;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (reason: unknown) => void;
}

/** The way of requests and replies between one process and one node. */
export class Link {
  readonly toClient: Wire;
  readonly #client: ClientProcess;
  readonly #host: NodeHost;
  readonly #network: Network;
  readonly #faults: readonly PerMessage[];
  readonly #dice: Dice;
  readonly #toNode: Wire;
  #requests = 0;

  /**
   * @param client the process that sends requests
   * @param host the node that answers
   * @param network the network between them
   * @param faults the faults that strike messages on this way
   */
  constructor(client: ClientProcess, host: NodeHost, network: Network, faults: readonly Fault[] = []) {
    this.#client = client;
    this.#host = host;
    this.#network = network;
    this.#dice = client.dice.fork(host.name);
    this.#toNode = new Wire(network);
    this.toClient = new Wire(network);
    this.#faults = faults.filter((fault) => "message" in fault);
  }

  /** Sends a request. Settles with the node's reply; never settles if a message is lost. */
  send<Reply>(exchange: Exchange<Reply>): Promise<Reply> {
    const number = ++this.#requests;
    const { nowMs: departsMs, name } = this.#client;
    this.#network.recorder.log(departsMs, name, () => {
      return { attempt: exchange.attempt, to: this.#host.name, what: exchange.request() };
    });
    return new Promise((resolve, reject) => {
      const sent: Sent<Reply> = {
        exchange,
        life: this.#host.lives,
        departsMs,
        sentAtMs: departsMs,
        faults: this.#network.isCalm ? [] : this.#faults.filter(({ message }) => message === number),
        dice: exchange.dice ?? this.#dice.fork(number),
        resolve: (reply) => {
          exchange.settles?.();
          resolve(reply);
        },
        reject: (reason) => {
          exchange.settles?.();
          reject(reason);
        },
      };
      if (exchange.isLost || this.#isLost(sent, "request")) this.#trace(sent, undefined);
      else this.#transmit(sent);
      for (const fault of sent.faults) {
        if (fault.kind !== "repeated message") continue;
        this.#network.struck(fault);
        exchange.excuse?.();
        this.#transmit({ ...sent, life: undefined, departsMs: departsMs + fault.afterMs });
      }
    });
  }

  /** Sends the request over the network. The node that is running when it arrives answers it. */
  #transmit<Reply>(sent: Sent<Reply>): void {
    const { world } = this.#network;
    const { exchange, departsMs } = sent;
    const atMs = this.#toNode.carry(departsMs, this.#delayMs(sent, "request"), sent.life === undefined);
    const request = this.#trace(sent, atMs);
    exchange.departs?.();
    world.at(atMs, phase.input, () => {
      const client = this.#client;
      const isIgnored = exchange.endsWithClient ? client.isDead : !client.livedAt(sent.sentAtMs);
      if (isIgnored) return exchange.excuse?.();
      if (this.#isAway(sent, request)) return;
      if (request !== undefined) request.readAtMs = world.nowMs;
      const { node } = this.#host;
      new Promise<Reply>((resolve) => resolve(exchange.ask(node))).then(
        (reply) => {
          exchange.replied?.(reply);
          this.#log(() => exchange.describe && { from: this.#host.name, ...exchange.describe(reply) });
          exchange.answered?.();
          const outcome = exchange.outcome?.(reply) ?? "done";
          this.#answer(sent, request, outcome, () => sent.resolve(exchange.read?.(reply) ?? reply));
        },
        (reason) => {
          exchange.refused?.(reason);
          this.#log(() => exchange.task && `fails to ${exchange.task()}: ${reason}`);
          exchange.answered?.();
          this.#answer(sent, request, "failed", () => sent.reject(reason));
        },
      );
    });
  }

  /** Records a request, if there is a trace. */
  #trace<Reply>({ exchange, life, departsMs }: Sent<Reply>, arrivesAtMs?: number): MessageTrace | undefined {
    const { kind, attempt } = exchange;
    return this.#network.recorder.tracer?.sends({
      ...{ from: this.#client.name, to: this.#host.name, part: "request", exchange: kind, attempt },
      ...{ sentAtMs: departsMs, arrivesAtMs, isRepeated: life === undefined },
    });
  }

  /** Whether the node is down, or has crashed since the request was sent: the request is then lost. */
  #isAway<Reply>(sent: Sent<Reply>, request: MessageTrace | undefined): boolean {
    const host = this.#host;
    const { exchange, life } = sent;
    const hasCrashed = life !== undefined && life !== host.lives;
    if (!host.isDown && !hasCrashed) return false;
    this.#log(() => exchange.task && `does not get the request to ${exchange.task()}`);
    exchange.excuse?.();
    if (!host.isSilent) this.#answer(sent, request, "refused", () => sent.reject(new Error("connection refused")));
    return true;
  }

  #answer<Reply>(
    sent: Sent<Reply>,
    request: MessageTrace | undefined,
    outcome: ReplyOutcome,
    arrive: () => void,
  ): void {
    const { world, recorder } = this.#network;
    const isLost = this.#isLost(sent, "reply");
    const atMs = isLost ? undefined : this.toClient.carry(world.nowMs, this.#delayMs(sent, "reply"));
    const reply = request && recorder.tracer?.answers(request, outcome, world.nowMs, atMs);
    if (atMs === undefined) return;
    this.#client.receive(atMs, () => {
      if (reply !== undefined) reply.readAtMs = this.#client.nowMs;
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

  #log(remark: () => Remark | string | undefined): void {
    const { recorder, world } = this.#network;
    recorder.log(world.nowMs, `node ${this.#host.name}`, remark);
  }
}
