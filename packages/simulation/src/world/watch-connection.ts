import type { LockNode, Unwatch } from "@holdfast/core";
import type { MessageTrace, ReplyOutcome } from "../history/trace.ts";
import type { Answer, Topic } from "../history/tracer.ts";
import { describeNext } from "../report/describe-reply.ts";
import type { Dice } from "../scenario/dice.ts";
import type { FailedWatch, LateNotification, LostNotification, RepeatedNotification } from "../scenario/fault.ts";
import type { ClientProcess } from "./client-process.ts";
import { type Network, Wire } from "./network.ts";
import type { NodeHost, OpenWatch } from "./node-host.ts";
import { phase } from "./world.ts";

/** The faults that strike single watches and notifications. */
export type WatchFault = LostNotification | LateNotification | RepeatedNotification | FailedWatch;

/** The answer to a watch that was set up or ended. */
const done: Answer = { what: "done", outcome: "done" };

type Watch = Required<LockNode>["watch"];

/**
 * The second connection of a client to a node, which carries notifications of releases. A node that crashes loses its
 * watches, and the client does not find out.
 */
export class WatchConnection {
  readonly #client: ClientProcess;
  readonly #host: NodeHost;
  readonly #network: Network;
  readonly #faults: readonly WatchFault[];
  readonly #dice: Dice;
  readonly #toNode: Wire;
  readonly #toClient: Wire;
  #watches = 0;
  #notifications = 0;

  /**
   * @param client the client that watches
   * @param host the node that is watched
   * @param network the network between them
   * @param faults the faults that strike this connection
   */
  constructor(client: ClientProcess, host: NodeHost, network: Network, faults: readonly WatchFault[]) {
    this.#client = client;
    this.#host = host;
    this.#network = network;
    this.#faults = faults;
    this.#dice = client.dice.fork(`${host.name} tells`);
    this.#toNode = new Wire(network);
    this.#toClient = new Wire(network);
  }

  readonly watch: Watch = (resources, onReleased) => {
    const number = ++this.#watches;
    const dice = this.#dice.fork("watch").fork(number);
    const fault = this.#faultsOf("watch", number)[0];
    return new Promise((resolve, reject) => {
      const topic = this.#ask("watch", `to watch ${resources.join(" and ")}`, resources);
      if (fault !== undefined) this.#network.struck(fault);
      if (fault?.isSilent || this.#isCut("requests")) return void this.#trace(topic);
      const refuse = (what: string, request: MessageTrace | undefined, outcome: ReplyOutcome = "failed"): void =>
        void this.#answer(dice, request, { what, outcome }, () => reject(new Error(what)));
      const arrive = async (request: MessageTrace | undefined): Promise<void> => {
        if (fault !== undefined) return refuse("the watch failed", request);
        const announce = (resource: string, next?: string): void => this.#notification(resource, next, onReleased);
        const open = await this.#host.watch(this.#client.name, resources, announce);
        if (open instanceof Error) return refuse(open.message, request);
        open.isExcused = !this.#answer(dice, request, done, () => resolve(this.#unwatchOf(open, dice.fork("end"))));
      };
      this.#reach(dice, topic, arrive, (request) => refuse("connection refused", request, "refused"));
    });
  };

  #unwatchOf(open: OpenWatch, dice: Dice): Unwatch {
    let ended: Promise<void> | undefined;
    const end = (): Promise<void> =>
      new Promise((resolve, reject) => {
        const { resources } = open;
        const topic = this.#ask("stop watching", `to stop watching ${resources.join(" and ")}`, resources);
        open.isExcused = this.#isCut("requests");
        if (open.isExcused) return void this.#trace(topic);
        const arrive = (request: MessageTrace | undefined): void => {
          this.#host.unwatch(open);
          this.#answer(dice, request, done, resolve);
        };
        const what = "connection refused";
        this.#reach(dice, topic, arrive, (request) => {
          this.#answer(dice, request, { what, outcome: "refused" }, () => reject(new Error(what)));
        });
      });
    return () => {
      ended ??= end();
      return ended;
    };
  }

  /** Notifies the client that a resource was released, and which waiter is next. */
  #notification(resource: string, next: string | undefined, onReleased: Parameters<Watch>[1]): void {
    const number = ++this.#notifications;
    const { world, recorder, latencyMs, waiterNames } = this.#network;
    const { name } = this.#host;
    const client = this.#client.name;
    const told = (): string => `that ${resource} was released${describeNext(next, ", and")}`;
    recorder.log(world.nowMs, `node ${name}`, () => ({ from: name, what: `notified ${client} ${told()}` }));
    const trace = (
      sentAtMs: number,
      arrivesAtMs: number | undefined,
      isRepeated: boolean,
    ): MessageTrace | undefined => {
      const way = { from: name, to: client, part: "notification" as const, sentAtMs, arrivesAtMs, isRepeated };
      return recorder.tracer?.sends({ exchange: "notification", resources: [resource], what: told() }, way);
    };
    const faults = this.#faultsOf("notification", number);
    for (const fault of faults) this.#network.struck(fault);
    if (faults.some(({ kind }) => kind === "lost notification") || this.#isCut("replies")) {
      return void trace(world.nowMs, undefined, false);
    }
    const dice = this.#dice.fork("notification").fork(number);
    const arrive = (afterMs: number, overtakes = false): void => {
      const atMs = this.#toClient.carry(world.nowMs + afterMs, dice.between(...latencyMs), overtakes);
      const message = trace(world.nowMs + (overtakes ? afterMs : 0), atMs, overtakes);
      this.#client.receive(atMs, () => {
        if (message !== undefined) message.readAtMs = this.#client.nowMs;
        recorder.notifications += 1;
        if (next === client) recorder.turns += 1;
        onReleased(resource, next && waiterNames.waiterOf(next));
      });
    };
    arrive(Math.max(0, ...faults.map((fault) => (fault.kind === "late notification" ? fault.byMs : 0))));
    for (const fault of faults) if (fault.kind === "repeated notification") arrive(fault.afterMs, true);
  }

  /** Records that the client sends the node a request. */
  #ask(exchange: "watch" | "stop watching", what: string, resources: readonly string[]): Topic {
    const client = this.#client;
    client.step();
    this.#network.recorder.log(client.nowMs, client.name, () => ({ to: this.#host.name, what }));
    return { exchange, resources, what };
  }

  /** Records a request, if there is a trace. It is lost unless it has a moment of arrival. */
  #trace(topic: Topic, arrivesAtMs?: number): MessageTrace | undefined {
    const { name: from, nowMs: sentAtMs } = this.#client;
    const way = { from, to: this.#host.name, part: "request" as const, sentAtMs, arrivesAtMs };
    return this.#network.recorder.tracer?.sends(topic, way);
  }

  /**
   * Sends a request over the network. It is lost if the client dies, or if the node is down or has crashed meanwhile.
   */
  #reach(
    dice: Dice,
    topic: Topic,
    arrive: (request: MessageTrace | undefined) => void,
    refused: (request: MessageTrace | undefined) => void,
  ): void {
    const { lives } = this.#host;
    const atMs = this.#toNode.carry(this.#client.nowMs, dice.between(...this.#network.latencyMs));
    const request = this.#trace(topic, atMs);
    this.#network.world.at(atMs, phase.input, () => {
      const isReached = !this.#client.isDead && !this.#host.isDown && lives === this.#host.lives;
      if (request !== undefined && isReached) request.readAtMs = atMs;
      if (isReached) arrive(request);
      else if (!this.#client.isDead && !this.#host.isSilent) refused(request);
    });
  }

  /** Sends the node's reply over the network. Returns whether it will arrive. */
  #answer(dice: Dice, request: MessageTrace | undefined, answer: Answer, arrive: () => void): boolean {
    const { world, latencyMs, recorder } = this.#network;
    const isCut = this.#isCut("replies");
    const atMs = isCut ? undefined : this.#toClient.carry(world.nowMs, dice.between(...latencyMs));
    const reply = request && recorder.tracer?.answers(request, answer, world.nowMs, atMs);
    if (atMs === undefined) return false;
    this.#client.receive(atMs, () => {
      if (reply !== undefined) reply.readAtMs = this.#client.nowMs;
      arrive();
    });
    return true;
  }

  #faultsOf(what: "watch", number: number): readonly FailedWatch[];
  #faultsOf(what: "notification", number: number): readonly Exclude<WatchFault, FailedWatch>[];
  #faultsOf(what: "watch" | "notification", number: number): readonly WatchFault[] {
    if (this.#network.isCalm) return [];
    return this.#faults.filter((fault) => (fault as Partial<Record<typeof what, number>>)[what] === number);
  }

  #isCut(part: "requests" | "replies"): boolean {
    return this.#network.isCut(this.#client.name, this.#host.name, part);
  }
}
