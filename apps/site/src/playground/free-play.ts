import type {
  ClientCrash,
  ClockJump,
  LateAccess,
  NodeCrash,
  Partition,
  Pause,
  PauseBeforeActing,
  Scenario,
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
