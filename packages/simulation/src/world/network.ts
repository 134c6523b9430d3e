import type { Recorder } from "../history/recorder.ts";
import type { Fault, Partition } from "../scenario/fault.ts";
import type { FullSettings } from "../scenario/scenario.ts";
import type { World } from "./world.ts";

/** The network between the clients and the nodes. */
export class Network {
  readonly world: World;
  readonly recorder: Recorder;
  /** The shortest and the longest time that a message takes, in milliseconds. */
  readonly latencyMs: readonly [number, number];
  /** Whether a connection keeps the order of its messages, as TCP does. */
  readonly keepsOrder: boolean;
  /** The names by which nodes know waiters. */
  readonly waiterNames: WaiterNames = new WaiterNames();
  readonly #partitions = new Set<Partition>();
  /** When the last message in flight arrives. */
  quietAtMs = 0;
  /** Whether faults of single messages are over. */
  isCalm = false;

  /**
   * @param world the world that it is part of
   * @param recorder records what happens to messages
   * @param settings its latency, and whether connections keep the order of messages
   */
  constructor(world: World, recorder: Recorder, settings: FullSettings) {
    this.world = world;
    this.recorder = recorder;
    this.latencyMs = settings.latencyMs;
    this.keepsOrder = settings.keepsOrder;
  }

  /** Ends the faults of single messages. */
  calmDown(): void {
    this.isCalm = true;
  }

  /** Notes that a message is in flight until `atMs`. */
  carriesUntil(atMs: number): void {
    this.quietAtMs = Math.max(this.quietAtMs, atMs);
  }

  /** Starts a partition. */
  part(partition: Partition): void {
    this.#partitions.add(partition);
  }

  /** Ends a partition. */
  heal(partition: Partition): void {
    this.#partitions.delete(partition);
  }

  /** Whether a partition drops the messages that the two send each other at present, in one direction. */
  isCut(client: string, node: string, part: "requests" | "replies"): boolean {
    for (const partition of this.#partitions) {
      const isPart = partition.part === "both" || partition.part === part;
      if (isPart && partition.clients.includes(client) && partition.nodes.includes(node)) return true;
    }
    return false;
  }

  /** Records that a fault struck a message. */
  struck(fault: Fault): void {
    this.recorder.faultStruck(this.world.nowMs, fault);
  }
}

/** One direction of a connection. */
export class Wire {
  readonly #network: Network;
  #lastArrivalMs = 0;

  /** @param network decides whether the order is kept, and learns how long messages are in flight */
  constructor(network: Network) {
    this.#network = network;
  }

  /**
   * Sends a message.
   *
   * @param overtakes whether it may arrive before earlier messages even if the connection keeps the order
   * @returns when it arrives: after its delay, but not before the message ahead of it if the order is kept
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
 * Maps the random waiter names of core to names that a seed always reproduces. Nodes may sort waiters by name, so a
 * random name would change the history; nodes see a name made from the client's instead.
 */
export class WaiterNames {
  readonly #names = new Map<string, string>();
  readonly #waiters = new Map<string, string>();

  /** Returns the name of a client's waiter for nodes. A client's further waiters are numbered. */
  nameOf(waiter: string, client: string): string {
    const known = this.#names.get(waiter);
    if (known !== undefined) return known;
    let name = client;
    for (let number = 2; this.#waiters.has(name); number++) name = `${client} as waiter ${number}`;
    this.#names.set(waiter, name);
    this.#waiters.set(name, waiter);
    return name;
  }

  /** Returns core's name of that waiter, or `name` itself if it is none that `nameOf` has given. */
  waiterOf(name: string): string {
    return this.#waiters.get(name) ?? name;
  }
}
