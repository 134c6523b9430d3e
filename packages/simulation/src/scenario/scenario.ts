import type { LockMode, Trust } from "../history/history.ts";
import type { Fault } from "./fault.ts";

/**
 * Everything that happens in a simulated world: what the clients do, and what goes wrong. Drawn from a seed
 * (`drawScenario`), or written by hand to show one thing.
 */
export interface Scenario {
  /** The seed of everything not stated here, such as latencies and delays between attempts. Default 1. */
  readonly seed?: number;
  /** The number of nodes, which are named `A`, `B`, … Default 5. */
  readonly nodes?: number;
  /** The clients: processes that share nothing but the nodes. */
  readonly clients: readonly ScenarioClient[];
  /** The faults that strike. Default: none. */
  readonly faults?: readonly Fault[];
  /** The settings of clients and network. */
  readonly settings?: ScenarioSettings;
  /** How the set of nodes changes. Default: clients use all nodes all the time. */
  readonly membership?: Membership | undefined;
}

/**
 * Changes of the set of nodes while clients lock. An operator takes the nodes from each set to the next one with
 * `migration()` of core, and repeats each step until it succeeds. Clients follow: each opens another `Redlock` for each
 * stage, and closes the one before when its locks have ended.
 */
export interface Membership {
  /** The names of the nodes in each set: the one at the start, and the one after each change. */
  readonly sets: readonly (readonly string[])[];
  /** When the first change begins, in milliseconds. Default 0. */
  readonly startMs?: number;
  /** The longest time after which a client follows to a stage that it may enter, in milliseconds. Default 0. */
  readonly followMs?: number;
  /**
   * `in order`: the operator goes on when all clients have followed. `operator hurries`: it does not wait for them, so
   * clients that are late are refused. `clients hurry`: some clients skip the joint stage of a change as soon as it has
   * begun, and are refused until that stage is over. Default `in order`.
   */
  readonly discipline?: "in order" | "operator hurries" | "clients hurry";
  /** When a client closes the `Redlock` of the stage before. Calls that wait are then repeated. Default: without calls. */
  readonly closes?: "at once" | "without calls";
  /** See `MigrationOptions` of core, in milliseconds. Default: one ttl. */
  readonly watchMs?: number;
}

/** The settings that all clients of a scenario share. Durations are in milliseconds. */
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
  /** The shortest and the longest time that a message takes. Default `[1, 1]`. */
  readonly latencyMs?: readonly [least: number, most: number];
  /** Whether each connection keeps the order of its messages, as TCP does. Default true. */
  readonly keepsOrder?: boolean;
  /** The names of nodes that do not notify of releases: they have no `watch`. Default: none. */
  readonly unwatchable?: readonly string[];
  /**
   * How many fence counters the resources of each memory node share. Default `Infinity`: each resource has its own.
   */
  readonly counters?: number;
  /**
   * How clients check whether they still hold a lock: by `remainingMs()` or by `signal`. Default `"remaining time"`.
   */
  readonly trust?: Trust;
  /** Clients that trust the remaining time act only if more than this is left. Default 0. */
  readonly marginMs?: number;
  /**
   * The time from which faults of single messages, and pauses that have not struck yet, no longer strike. Promises to
   * waiters that hold only after all faults can be checked from then on. Default: when all work is done.
   */
  readonly calmAfterMs?: number;
}

/** One client process. */
export interface ScenarioClient {
  /** Its name, such as `client 1`. */
  readonly name: string;
  /** The operations of each worker, one after another. The workers of a process share a `Redlock`. */
  readonly workers: readonly (readonly Operation[])[];
  /** Whether it watches nodes for releases. Default true. */
  readonly listens?: boolean;
}

/** One use of a lock by a worker. */
export interface Operation {
  /** Which call acquires the lock. */
  readonly by: "acquire" | "tryAcquire" | "using";
  /** The resources to lock. */
  readonly resources: readonly string[];
  /** See `LockOptions` of core. Under a shared lock, the worker only reads. Default `exclusive`. */
  readonly mode?: LockMode;
  /** How long the worker waits before the call, in milliseconds. Default 0. */
  readonly afterMs?: number;
  /** See `LockOptions` of core. Default: the scenario's. */
  readonly ttlMs?: number;
  /** See `LockOptions` of core. Default: core's. */
  readonly waitTimeoutMs?: number;
  /** See `LockOptions` of core. Default: core's. */
  readonly autoExtend?: boolean;
  /** See `LockOptions` of core. Default: core's. */
  readonly maxHoldMs?: number;
  /** When the caller stops waiting, by aborting a signal, in milliseconds after the call. Default: never. */
  readonly abortAfterMs?: number;
  /**
   * How many times it reads what the lock protects, and then writes it, or reads it again under a shared lock. It
   * checks the lock before each access. Default 1.
   */
  readonly updates?: number;
  /** The time between the two accesses of an update, in milliseconds; a list has one entry for each update. Default 1. */
  readonly thinkMs?: number | readonly number[];
  /** Whether the worker forgets to show its fencing token to the storages. Default false. */
  readonly forgetsToken?: boolean;
  /** The ttl of an extension after each update, in milliseconds. Default: no extension. */
  readonly extendMs?: number;
  /** Nested operations that the worker performs afterwards under the lock, one after another. Default: none. */
  readonly under?: readonly Operation[];
  /** How the lock ends, except under `using`. `forget` lets it expire. Default `release`. */
  readonly end?: "release" | "release twice" | "forget";
}

/** A scenario with all defaults filled in. */
export interface FullScenario extends Required<Omit<Scenario, "membership">> {
  readonly settings: FullSettings;
  readonly membership: Required<Membership> | undefined;
}

/** Settings with all defaults filled in, except those that core decides. */
export type FullSettings = Required<Omit<ScenarioSettings, "quorum">> & Pick<ScenarioSettings, "quorum">;

/** Fills in the defaults. */
export function complete(scenario: Scenario): FullScenario {
  const { seed = 1, clients, faults = [], settings = {}, membership } = scenario;
  const { nodes = membership === undefined ? 5 : highestOf(membership.sets) } = scenario;
  const { ttlMs = 1000 } = settings;
  return {
    seed,
    nodes,
    clients,
    faults,
    membership: membership && {
      ...{ startMs: 0, followMs: 0, discipline: "in order", closes: "without calls", watchMs: ttlMs },
      ...membership,
    },
    settings: {
      ttlMs: 1000,
      nodeTimeoutMs: 50,
      retryDelayMs: 25,
      retryDelayMaxMs: 400,
      latencyMs: [1, 1],
      keepsOrder: true,
      unwatchable: [],
      counters: Infinity,
      trust: "remaining time",
      marginMs: 0,
      calmAfterMs: Infinity,
      ...settings,
    },
  };
}

/** Returns the names of the nodes: `A`, `B`, … */
export function nodeNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String.fromCharCode("A".charCodeAt(0) + index));
}

/** Returns the position of the highest name in any of these sets, from 1. */
function highestOf(sets: Membership["sets"]): number {
  return 1 + Math.max(...sets.flat().map((name) => nodeNames(26).indexOf(name)));
}

/** How many of so many nodes must grant a lock. */
export function quorumOf(nodes: number, settings: Pick<FullSettings, "quorum">): number {
  return settings.quorum ?? Math.floor(nodes / 2) + 1;
}

/** By how much the epochs of two neighbouring stages differ. A change has two: joint clients, and the new set. */
export const epochsPerStage = 2;

/** The epoch of clients that have gone through this many changes, and have not begun another. */
export function epochAfter(changes: number): number {
  return 1 + 2 * epochsPerStage * changes;
}

/** The `generation` of clients of an epoch: how many changes they have gone through. */
export function generationAt(epoch: number): number {
  return Math.floor(epoch / (2 * epochsPerStage));
}

/** The sets of nodes of which clients of an epoch need a quorum each: one, or the old and the new one. */
export function setsAt(epoch: number, { nodes, membership }: FullScenario): readonly (readonly string[])[] {
  if (membership === undefined) return [nodeNames(nodes)];
  const changes = (epoch - 1) / (2 * epochsPerStage);
  return membership.sets.slice(Math.floor(changes), Math.ceil(changes) + 1);
}

/** The epoch of clients after all changes. */
export function lastEpoch({ membership }: FullScenario): number {
  return membership === undefined ? 1 : epochAfter(membership.sets.length - 1);
}

/** Whether a majority of the nodes of each set notifies a client of releases, so that it misses none. */
export function isNotified(scenario: FullScenario, epoch: number, { listens = true }: ScenarioClient): boolean {
  const { unwatchable } = scenario.settings;
  const isEnough = (set: readonly string[]): boolean =>
    set.filter((name) => !unwatchable.includes(name)).length > set.length / 2;
  return listens && setsAt(epoch, scenario).every(isEnough);
}

/** The name of the process that changes the set of nodes, and heals nodes. */
export const operatorName = "operator";

/** Returns all operations of the clients, nested ones included. */
export function operationsOf(clients: FullScenario["clients"]): Operation[] {
  return clients.flatMap(({ workers }) => workers.flat()).flatMap(withNested);
}

/** Returns every resource that the clients lock. */
export function resourcesOf({ clients }: Pick<FullScenario, "clients">): string[] {
  return [...new Set(operationsOf(clients).flatMap(({ resources }) => resources))];
}

function withNested(operation: Operation): Operation[] {
  return [operation, ...(operation.under ?? []).flatMap(withNested)];
}

/**
 * Maps operations, outer ones first. An operation mapped to undefined is removed together with its nested operations.
 */
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

/** Returns the longest ttl of any lock of the scenario, in milliseconds. */
export function longestTtlMs({ clients, settings }: Pick<FullScenario, "clients" | "settings">): number {
  const operations = operationsOf(clients);
  return Math.max(settings.ttlMs, ...operations.flatMap(({ ttlMs = 0, extendMs = 0 }) => [ttlMs, extendMs]));
}

/**
 * @throws {RangeError} if a fault names a client or node that the scenario does not have, so that it would never strike
 */
export function assertKnownNames({ nodes, clients, faults }: FullScenario): void {
  const known = new Set([...nodeNames(nodes), ...clients.map(({ name }) => name), operatorName]);
  for (const fault of faults) {
    const unknown = namesIn(fault).find((name) => !known.has(name));
    if (unknown === undefined) continue;
    const names = [...known].filter((name) => name !== operatorName).join(", ");
    throw new RangeError(`the fault "${fault.kind}" names ${JSON.stringify(unknown)}, which is not one of ${names}`);
  }
}

function namesIn(fault: Fault): readonly string[] {
  if (fault.kind === "partition") return [...fault.clients, ...fault.nodes];
  const { client, node, of } = fault as { readonly client?: string; readonly node?: string; readonly of?: string };
  return [client, node, of].filter((name) => name !== undefined);
}
