import type { LockNode, Unwatch } from "@holdfast/core/node";
import { describeNext } from "../report/describe-reply.ts";
import type { Dice } from "../scenario/dice.ts";
import type { FailedWatch, LateNotification, LostNotification, RepeatedNotification } from "../scenario/fault.ts";
import type { ClientProcess } from "./client-process.ts";
import { Link } from "./link.ts";
import type { Network } from "./network.ts";
import type { NodeHost, OpenWatch } from "./node-host.ts";

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
  readonly #watchFaults: readonly FailedWatch[];
  readonly #faults: readonly Exclude<WatchFault, FailedWatch>[];
  readonly #dice: Dice;
  readonly #link: Link;
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
    this.#watchFaults = faults.filter((fault) => "watch" in fault);
    this.#faults = faults.filter((fault) => "notification" in fault);
    this.#dice = client.dice.fork(`${host.name} tells`);
    this.#link = new Link(client, host, network);
  }

  readonly watch: Watch = async (resources, onReleased) => {
    const number = ++this.#watches;
    const dice = this.#dice.fork("watch").fork(number);
    const fault = this.#watchFaults.find(({ watch }) => watch === number && !this.#network.isCalm);
    this.#client.step();
    let opened: OpenWatch | undefined;
    const reply = this.#link.send<OpenWatch>({
      kind: "watch",
      dice,
      isLost: fault?.isSilent ?? false,
      endsWithClient: true,
      request: () => `to watch ${resources.join(" and ")}`,
      ask: async () => {
        if (fault !== undefined) throw new Error("the watch failed");
        const announce = (resource: string, next?: string): void => this.#notification(resource, next, onReleased);
        opened = await this.#host.watch(this.#client.name, resources, announce);
        return opened;
      },
      excuse: () => {
        if (opened !== undefined) opened.isExcused = true;
      },
    });
    if (fault !== undefined) this.#network.struck(fault);
    return this.#unwatchOf(await reply, dice.fork("end"));
  };

  #unwatchOf(open: OpenWatch, dice: Dice): Unwatch {
    let ended: Promise<void> | undefined;
    const end = (): Promise<void> => {
      this.#client.step();
      return this.#link.send<void>({
        kind: "stop watching",
        dice,
        endsWithClient: true,
        request: () => `to stop watching ${open.resources.join(" and ")}`,
        ask: async () => this.#host.unwatch(open),
        excuse: () => {
          open.isExcused = true;
        },
      });
    };
    return () => {
      ended ??= end();
      return ended;
    };
  }

  /** Notifies the client that a resource was released, and which waiter is next. */
  #notification(resource: string, next: string | undefined, onReleased: Parameters<Watch>[1]): void {
    const number = ++this.#notifications;
    const { world, recorder, latencyMs, waiterNames } = this.#network;
    const { name: from } = this.#host;
    const { name: to } = this.#client;
    recorder.log(world.nowMs, `node ${from}`, () => {
      return { from, what: `notified ${to} that ${resource} was released${describeNext(next, ", and")}` };
    });
    const trace = (sentAtMs: number, arrivesAtMs: number | undefined, isRepeated: boolean) =>
      recorder.tracer?.sends({
        ...{ from, to, part: "notification", exchange: "notification", sentAtMs, arrivesAtMs, isRepeated },
      });
    const faults = this.#faults.filter(({ notification }) => notification === number && !this.#network.isCalm);
    for (const fault of faults) this.#network.struck(fault);
    if (faults.some(({ kind }) => kind === "lost notification") || this.#network.isCut(to, from, "replies")) {
      return void trace(world.nowMs, undefined, false);
    }
    const dice = this.#dice.fork("notification").fork(number);
    const arrive = (afterMs: number, overtakes = false): void => {
      const atMs = this.#link.toClient.carry(world.nowMs + afterMs, dice.between(...latencyMs), overtakes);
      const message = trace(world.nowMs + (overtakes ? afterMs : 0), atMs, overtakes);
      this.#client.receive(atMs, () => {
        if (message !== undefined) message.readAtMs = this.#client.nowMs;
        recorder.notifications += 1;
        if (next === to) recorder.turns += 1;
        onReleased(resource, next && waiterNames.waiterOf(next));
      });
    };
    arrive(Math.max(0, ...faults.map((fault) => (fault.kind === "late notification" ? fault.byMs : 0))));
    for (const fault of faults) if (fault.kind === "repeated notification") arrive(fault.afterMs, true);
  }
}
