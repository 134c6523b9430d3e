import type { Fault, Partition } from "./fault.ts";
import type { Recorder } from "./recorder.ts";
import type { FullSettings } from "./scenario.ts";
import { WaiterNames } from "./waiter-names.ts";
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
