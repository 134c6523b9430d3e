import type {
  ClientCrash,
  ClockJump,
  Fault,
  LateAccess,
  NodeCrash,
  Partition,
  Pause,
  PauseBeforeActing,
  Scenario,
  Trace,
} from "@holdfast/simulation";

/** A scenario of the reader's own: clients that update the same resource again and again. Durations are in milliseconds. */
export interface FreePlay {
  /** How many nodes there are. */
  readonly nodes: number;
  /** How many clients there are. */
  readonly clients: number;
  /** The ttl of each lock. */
  readonly ttlMs: number;
  /** The time between the read and the write of an update. */
  readonly thinkMs: number;
  /** About how long the clients work, if nothing goes wrong. */
  readonly forMs: number;
}

/** The scenario with which a reader begins. */
export const defaultPlay: FreePlay = { nodes: 5, clients: 2, ttlMs: 1000, thinkMs: 100, forMs: 4000 };

/** The least and the most of each number of a {@link FreePlay}. */
export const playLimits: Readonly<Record<keyof FreePlay, readonly [least: number, most: number]>> = {
  nodes: [1, 7],
  clients: [1, 4],
  ttlMs: [100, 10_000],
  thinkMs: [10, 5_000],
  forMs: [500, 10_000],
};

/** The faults that a reader can add. */
export type PlayFault = NodeCrash | Partition | Pause | PauseBeforeActing | ClockJump | ClientCrash | LateAccess;

/** About how long a client needs for an update besides thinking, in milliseconds. */
const roundsMs = 16;

/** The delay between two updates of a client, in milliseconds. */
const afterMs = 10;

/** Returns the scenario of a {@link FreePlay}, with these faults. */
export function scenarioOfPlay({ nodes, clients, ttlMs, thinkMs, forMs }: FreePlay): Scenario {
  const updates = Math.ceil(forMs / (clients * (thinkMs + roundsMs) + (clients === 1 ? afterMs : 0)));
  return {
    nodes,
    clients: Array.from({ length: clients }, (_, index) => ({
      name: `client ${index + 1}`,
      workers: [
        Array.from({ length: updates }, () => {
          return { by: "acquire", resources: ["file"], afterMs, thinkMs, waitTimeoutMs: 3 * ttlMs };
        }),
      ],
    })),
    settings: { ttlMs, latencyMs: [2, 4], nodeTimeoutMs: Math.min(50, Math.floor(ttlMs / 4)) },
  };
}

/** Returns the scenario with more faults. The run does not change before the first of them strikes. */
export function withFaults(scenario: Scenario, faults: readonly Fault[]): Scenario {
  return faults.length === 0 ? scenario : { ...scenario, faults: [...(scenario.faults ?? []), ...faults] };
}

/**
 * Returns a duration in whole microseconds, as an address has it. It is not shorter, so that a fault at a moment of the
 * cursor strikes after what the cursor shows.
 */
export function wholeMicroseconds(ms: number): number {
  const nearest = Math.round(ms * 1000);
  return nearest / 1000 >= ms ? nearest / 1000 : (nearest + 1) / 1000;
}

/** Returns the fault that pauses a client at a moment, wherever its code is. */
export function pauseClient(client: string, atMs: number, forMs: number): Pause {
  return { kind: "pause", client, atMs: wholeMicroseconds(atMs), forMs, step: 0 };
}

/** Returns the fault that pauses a client between its next look at its lock and the access that follows. */
export function stallClient(client: string, atMs: number, forMs: number): PauseBeforeActing {
  return { kind: "pause before acting", client, atMs: wholeMicroseconds(atMs), forMs };
}

/** Returns the fault that sets the clock of a client or node forward, or back if `byMs` is negative. */
export function setClock(of: string, atMs: number, byMs: number): ClockJump {
  return { kind: "clock jump", of, atMs: wholeMicroseconds(atMs), byMs };
}

/** Returns the fault that stops a client for good. */
export function crashClient(client: string, atMs: number): ClientCrash {
  return { kind: "client crash", client, atMs: wholeMicroseconds(atMs) };
}

/** Returns the fault that stops a node at a moment: until it is restarted, unless `forMs` is given. */
export function crashNode(
  node: string,
  atMs: number,
  { memory = "kept", forMs = Infinity, guardMs = 0 }: Partial<Pick<NodeCrash, "memory" | "forMs" | "guardMs">> = {},
): NodeCrash {
  const guard = memory === "lost" && guardMs > 0 ? { guardMs } : {};
  return { kind: "node crash", node, atMs: wholeMicroseconds(atMs), forMs, memory, isSilent: false, ...guard };
}

/** Returns the faults, of which the last crash of a node ends at a moment: it restarts then. */
export function restartNode(faults: readonly PlayFault[], node: string, atMs: number): PlayFault[] {
  return ended(faults, atMs, (fault) => fault.kind === "node crash" && fault.node === node);
}

/** Returns the fault that cuts the link between a client and a node. */
export function cutLink(
  client: string,
  node: string,
  atMs: number,
  { part = "both", forMs = 60_000 }: Partial<Pick<Partition, "part" | "forMs">> = {},
): Partition {
  return { kind: "partition", clients: [client], nodes: [node], part, atMs: wholeMicroseconds(atMs), forMs };
}

/** Returns the faults, of which the cuts between a client and a node end at a moment. */
export function mendLink(faults: readonly PlayFault[], client: string, node: string, atMs: number): PlayFault[] {
  const isCut = (fault: PlayFault): boolean =>
    fault.kind === "partition" && fault.clients.includes(client) && fault.nodes.includes(node);
  return ended(faults, atMs, isCut);
}

/** Shortens the faults that last at a moment, so that they end then. */
function ended(faults: readonly PlayFault[], atMs: number, isOne: (fault: PlayFault) => boolean): PlayFault[] {
  return faults.map((fault) => {
    const lasts = "forMs" in fault && isOne(fault) && fault.atMs <= atMs && atMs < fault.atMs + fault.forMs;
    return lasts ? { ...fault, forMs: wholeMicroseconds(atMs - fault.atMs) } : fault;
  });
}

/**
 * Returns the fault that delays the first write of a client that is sent from a moment on; undefined if it sends none.
 *
 * @param trace the run before the fault
 */
export function lateWrite(trace: Trace, client: string, fromMs: number, byMs: number): LateAccess | undefined {
  const accesses = trace.accesses.filter((access) => access.client === client);
  const index = accesses.findIndex(({ kind, sentAtMs }) => kind === "write" && sentAtMs >= fromMs);
  return index < 0 ? undefined : { kind: "late access", client, access: index + 1, byMs };
}
