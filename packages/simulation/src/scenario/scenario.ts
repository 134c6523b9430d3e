import type { Trust } from "../history/recorder.ts";
import type { Fault } from "./fault.ts";

/**
 * All that happens in a simulated world: who does what, and what goes wrong. Drawn from a seed (`drawScenario`), or
 * written by hand to show one thing.
 */
export interface Scenario {
  /** What everything is drawn from that is not said here: latencies, delays between attempts. Default 1. */
  readonly seed?: number;
  /** How many nodes there are, named `A`, `B`, … Default 5. */
  readonly nodes?: number;
  /** The clients: processes that share nothing but the nodes. */
  readonly clients: readonly ScenarioClient[];
  /** What goes wrong. Default: nothing. */
  readonly faults?: readonly Fault[];
  /** How the clients are set up. */
  readonly settings?: ScenarioSettings;
}

/** What all clients of a scenario go by. Durations are milliseconds. */
export interface ScenarioSettings {
  /** See `LockOptions` of core. Default 1000. */
  readonly ttlMs?: number;
  /** See `LockOptions` of core. Default 50. */
  readonly nodeTimeoutMs?: number;
  /** See `LockOptions` of core. Default 25. */
  readonly retryDelayMs?: number;
  /** See `LockOptions` of core. Default 400. */
  readonly retryDelayMaxMs?: number;
  /** See `LockOptions` of core. Default: the majority. */
  readonly quorum?: number;
  /** How long a message takes, from the least to the most. Default from 1 to 1. */
  readonly latencyMs?: readonly [least: number, most: number];
  /** Whether each connection keeps the order of its messages, as TCP does. Default true. */
  readonly keepsOrder?: boolean;
  /** The names of nodes that do not tell what was released: they have no `watch`. Default: none. */
  readonly unwatchable?: readonly string[];
  /** How clients tell whether they still hold a lock: by `remainingMs()` or by `signal`. Default `"remaining time"`. */
  readonly trust?: Trust;
  /** Clients that trust the remaining time act only if it is more than this. Default 0. */
  readonly marginMs?: number;
  /**
   * When faults of single messages, and pauses that have not struck yet, no longer strike. What is promised of waiters once
   * all faults are over can be checked from then on. Default: when all work is done.
   */
  readonly calmAfterMs?: number;
}

/** One process. */
export interface ScenarioClient {
  /** Its name, such as `client 1`. */
  readonly name: string;
  /** What its workers do, one after another; workers of one process share a `Redlock`. */
  readonly workers: readonly (readonly Operation[])[];
  /** Whether it listens to nodes that notify of releases. Default true. */
  readonly listens?: boolean;
}

/** Something that a worker does with a lock. */
export interface Operation {
  /** Which call acquires the lock. */
  readonly by: "acquire" | "tryAcquire" | "using";
  /** What it locks. */
  readonly resources: readonly string[];
  /** How long the worker waits before, in milliseconds. Default 0. */
  readonly afterMs?: number;
  /** See `LockOptions` of core. Default: that of the scenario. */
  readonly ttlMs?: number;
  /** See `LockOptions` of core. Default that of core. */
  readonly waitTimeoutMs?: number;
  /** See `LockOptions` of core. Default that of core. */
  readonly autoExtend?: boolean;
  /** See `LockOptions` of core. Default that of core. */
  readonly maxHoldMs?: number;
  /** After how long the caller gives up waiting, by a signal, in milliseconds. Default: not at all. */
  readonly abortAfterMs?: number;
  /** How often it reads and then writes what the lock protects, looking at the lock before each access. Default 1. */
  readonly updates?: number;
  /** How long it thinks between a read and the write, in milliseconds; a list has one for each update. Default 1. */
  readonly thinkMs?: number | readonly number[];
  /** The ttl of an extension after each update, in milliseconds. Default: no extension. */
  readonly extendMs?: number;
  /** What the worker does afterwards under the lock, one after another: it takes further locks. Default: nothing. */
  readonly under?: readonly Operation[];
  /** How it ends with the lock, unless `using` does. `forget` leaves it to expire. Default `release`. */
  readonly end?: "release" | "release twice" | "forget";
}

/** A scenario in which nothing is left open. */
export interface FullScenario extends Required<Scenario> {
  readonly settings: FullSettings;
}

/** Settings in which nothing is left open, other than what core decides. */
export type FullSettings = Required<Omit<ScenarioSettings, "quorum">> & Pick<ScenarioSettings, "quorum">;

/** Fills in the defaults. */
export function complete(scenario: Scenario): FullScenario {
  const { seed = 1, nodes = 5, clients, faults = [], settings = {} } = scenario;
  return {
    seed,
    nodes,
    clients,
    faults,
    settings: {
      ttlMs: 1000,
      nodeTimeoutMs: 50,
      retryDelayMs: 25,
      retryDelayMaxMs: 400,
      latencyMs: [1, 1],
      keepsOrder: true,
      unwatchable: [],
      trust: "remaining time",
      marginMs: 0,
      calmAfterMs: Infinity,
      ...settings,
    },
  };
}

/** The names of so many nodes: `A`, `B`, … */
export function nodeNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String.fromCharCode("A".charCodeAt(0) + index));
}

/** How many nodes must grant a lock. */
export function quorumOf({ nodes, settings }: Pick<FullScenario, "nodes" | "settings">): number {
  return settings.quorum ?? Math.floor(nodes / 2) + 1;
}

/** How many nodes must notify a client that it misses no release: as many as must grant, if there are so many. */
export function isNotified({ nodes, settings }: FullScenario, { listens = true }: ScenarioClient): boolean {
  return listens && nodes - settings.unwatchable.length > nodes / 2;
}

/** All that the clients do, also under other locks. */
export function operationsOf(clients: FullScenario["clients"]): Operation[] {
  return clients.flatMap(({ workers }) => workers.flat()).flatMap(withNested);
}

function withNested(operation: Operation): Operation[] {
  return [operation, ...(operation.under ?? []).flatMap(withNested)];
}

/** Changes operations, from the outermost on; those that become undefined are left out, with all that is done under them. */
export function mapOperations(
  operations: readonly Operation[],
  change: (operation: Operation) => Operation | undefined,
): Operation[] {
  return operations.flatMap((operation) => {
    const changed = change(operation);
    if (changed?.under === undefined) return changed ?? [];
    return { ...changed, under: mapOperations(changed.under, change) };
  });
}

/** The longest ttl that any lock of the scenario has, in milliseconds. */
export function longestTtlMs({ clients, settings }: Pick<FullScenario, "clients" | "settings">): number {
  const operations = operationsOf(clients);
  return Math.max(settings.ttlMs, ...operations.flatMap(({ ttlMs = 0, extendMs = 0 }) => [ttlMs, extendMs]));
}

/** @throws {RangeError} if a fault names a client or node that the scenario does not have: it would never strike */
export function assertKnownNames({ nodes, clients, faults }: FullScenario): void {
  const known = new Set([...nodeNames(nodes), ...clients.map(({ name }) => name)]);
  for (const fault of faults) {
    const unknown = namesIn(fault).find((name) => !known.has(name));
    if (unknown === undefined) continue;
    const names = [...known].join(", ");
    throw new RangeError(`the fault "${fault.kind}" names ${JSON.stringify(unknown)}, which is none of ${names}`);
  }
}

function namesIn(fault: Fault): readonly string[] {
  if (fault.kind === "partition") return [...fault.clients, ...fault.nodes];
  const { client, node, of } = fault as { readonly client?: string; readonly node?: string; readonly of?: string };
  return [client, node, of].filter((name) => name !== undefined);
}
