import type { Recorder } from "../history/recorder.ts";
import type { Fault, Partition } from "../scenario/fault.ts";
import type { FullSettings } from "../scenario/scenario.ts";
import type { World } from "./world.ts";

/** What is between the clients and the nodes. */
export class Network {
  readonly world: World;
  readonly recorder: Recorder;
  /** How long a message takes, in milliseconds, from the least to the most. */
  readonly latencyMs: readonly [number, number];
  /** Whether a connection keeps the order of its messages, as TCP does. */
  readonly keepsOrder: boolean;
  /** What nodes call those who wait. */
  readonly waiterNames: WaiterNames = new WaiterNames();
  readonly #partitions = new Set<Partition>();
  #quietAtMs = 0;
  #isCalm = false;

  /**
   * @param world where it is
   * @param recorder hears what happens to messages
   * @param settings how fast it is, and whether it keeps the order
   */
  constructor(world: World, recorder: Recorder, settings: FullSettings) {
    this.world = world;
    this.recorder = recorder;
    this.latencyMs = settings.latencyMs;
    this.keepsOrder = settings.keepsOrder;
  }

  /** Whether faults of single messages are over. */
  get isCalm(): boolean {
    return this.#isCalm;
  }

  /** Ends the faults of single messages. */
  calmDown(): void {
    this.#isCalm = true;
  }

  /** When the last message that is on the way arrives. */
  get quietAtMs(): number {
    return this.#quietAtMs;
  }

  /** A message is on the way until then. */
  carriesUntil(atMs: number): void {
    this.#quietAtMs = Math.max(this.#quietAtMs, atMs);
  }

  /** Separates clients from nodes. */
  part(partition: Partition): void {
    this.#partitions.add(partition);
  }

  /** Ends a partition. */
  heal(partition: Partition): void {
    this.#partitions.delete(partition);
  }

  /** Whether what is sent between the two now is lost. */
  isCut(client: string, node: string, part: "requests" | "replies"): boolean {
    for (const partition of this.#partitions) {
      const isPart = partition.part === "both" || partition.part === part;
      if (isPart && partition.clients.includes(client) && partition.nodes.includes(node)) return true;
    }
    return false;
  }

  /** A fault strikes a message. */
  struck(fault: Fault): void {
    this.recorder.faultStruck(this.world.nowMs, fault);
  }
}

/** One direction of a connection. */
export class Wire {
  readonly #network: Network;
  #lastArrivalMs = 0;

  /** @param network whether it keeps the order, and hears that something is on the way */
  constructor(network: Network) {
    this.#network = network;
  }

  /**
   * Takes a message.
   *
   * @param overtakes whether it may come before those that were sent earlier, also where the order is kept
   * @returns when it arrives: after its delay, or with the message before it
   */
  carry(departsMs: number, delayMs: number, overtakes = false): number {
    const keepsOrder = this.#network.keepsOrder && !overtakes;
    const atMs = Math.max(departsMs + delayMs, keepsOrder ? this.#lastArrivalMs : 0);
    if (keepsOrder) this.#lastArrivalMs = atMs;
    this.#network.carriesUntil(atMs);
    return atMs;
  }
}

/**
 * What waiters are called. A core draws the name by which nodes know it at random, and nodes may put those who wait in order
 * by their names; but a seed must always lead to the same. So nodes get to know a waiter by the name of its client.
 */
export class WaiterNames {
  readonly #names = new Map<string, string>();
  readonly #waiters = new Map<string, string>();

  /** The name of a client's waiter. A client that has more than one gives the others a number. */
  nameOf(waiter: string, client: string): string {
    const known = this.#names.get(waiter);
    if (known !== undefined) return known;
    let name = client;
    for (let number = 2; this.#waiters.has(name); number++) name = `${client} as waiter ${number}`;
    this.#names.set(waiter, name);
    this.#waiters.set(name, waiter);
    return name;
  }

  /** The waiter of that name, or what a node has said instead of one. */
  waiterOf(name: string): string {
    return this.#waiters.get(name) ?? name;
  }
}
