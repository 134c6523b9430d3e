import type { LockNode, Unwatch } from "@holdfast/core";
import { describeNext } from "../report/describe-reply.ts";
import type { Dice } from "../scenario/dice.ts";
import type { FailedWatch, LateNotification, LostNotification, RepeatedNotification } from "../scenario/fault.ts";
import type { ClientProcess } from "./client-process.ts";
import { type Network, Wire } from "./network.ts";
import type { NodeHost, OpenWatch } from "./node-host.ts";
import { phase } from "./world.ts";

/** The faults that strike single watches and notifications. */
export type WatchFault = LostNotification | LateNotification | RepeatedNotification | FailedWatch;

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
      this.#ask(`to watch ${resources.join(" and ")}`);
      if (fault !== undefined) this.#network.struck(fault);
      if (fault?.isSilent || this.#isCut("requests")) return;
      const refuse = (reason: string): void => void this.#answer(dice, () => reject(new Error(reason)));
      const arrive = async (): Promise<void> => {
        if (fault !== undefined) return refuse("the watch failed");
        const announce = (resource: string, next?: string): void => this.#notification(resource, next, onReleased);
        const open = await this.#host.watch(this.#client.name, resources, announce);
        if (open instanceof Error) return refuse(open.message);
        open.isExcused = !this.#answer(dice, () => resolve(this.#unwatchOf(open, dice.fork("end"))));
      };
      this.#reach(dice, arrive, () => refuse("connection refused"));
    });
  };

  #unwatchOf(open: OpenWatch, dice: Dice): Unwatch {
    let ended: Promise<void> | undefined;
    const end = (): Promise<void> =>
      new Promise((resolve, reject) => {
        this.#ask(`to stop watching ${open.resources.join(" and ")}`);
        open.isExcused = this.#isCut("requests");
        if (open.isExcused) return;
        const arrive = (): void => {
          this.#host.unwatch(open);
          this.#answer(dice, resolve);
        };
        this.#reach(dice, arrive, () => void this.#answer(dice, () => reject(new Error("connection refused"))));
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
    recorder.log(world.nowMs, `node ${name}`, () => {
      return { from: name, what: `notified ${client} that ${resource} was released${describeNext(next, ", and")}` };
    });
    const faults = this.#faultsOf("notification", number);
    for (const fault of faults) this.#network.struck(fault);
    if (faults.some(({ kind }) => kind === "lost notification") || this.#isCut("replies")) return;
    const dice = this.#dice.fork("notification").fork(number);
    const arrive = (afterMs: number, overtakes = false): void => {
      const atMs = this.#toClient.carry(world.nowMs + afterMs, dice.between(...latencyMs), overtakes);
      this.#client.receive(atMs, () => {
        recorder.notifications += 1;
        if (next === client) recorder.turns += 1;
        onReleased(resource, next && waiterNames.waiterOf(next));
      });
    };
    arrive(Math.max(0, ...faults.map((fault) => (fault.kind === "late notification" ? fault.byMs : 0))));
    for (const fault of faults) if (fault.kind === "repeated notification") arrive(fault.afterMs, true);
  }

  /** Records that the client sends the node a request. */
  #ask(what: string): void {
    const client = this.#client;
    client.step();
    this.#network.recorder.log(client.nowMs, client.name, () => ({ to: this.#host.name, what }));
  }

  /**
   * Sends a request over the network. It is lost if the client dies, or if the node is down or has crashed meanwhile.
   */
  #reach(dice: Dice, arrive: () => void, refused: () => void): void {
    const { lives } = this.#host;
    const atMs = this.#toNode.carry(this.#client.nowMs, dice.between(...this.#network.latencyMs));
    this.#network.world.at(atMs, phase.input, () => {
      if (this.#client.isDead) return;
      if (!this.#host.isDown && lives === this.#host.lives) arrive();
      else if (!this.#host.isSilent) refused();
    });
  }

  /** Sends the node's reply over the network. Returns whether it will arrive. */
  #answer(dice: Dice, arrive: () => void): boolean {
    if (this.#isCut("replies")) return false;
    const { world, latencyMs } = this.#network;
    this.#client.receive(this.#toClient.carry(world.nowMs, dice.between(...latencyMs)), arrive);
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
