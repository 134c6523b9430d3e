/** What a reader may do to the nodes and clients at a moment of a run. */
import type { Fault } from "@holdfast/simulation";
import type { Deed } from "./address.ts";

/** Something that the reader may do to a node or a client. */
export interface Action {
  /** Its name in addresses, unique among the actions of its target. */
  readonly id: string;
  /** The text of its button. */
  readonly label: string;
  /** Returns the fault that it adds at a moment. */
  readonly faultAt: (atMs: number) => Fault;
}

/** The ttl of the stories' locks, in milliseconds: faults last for a multiple of it. */
const ttlMs = 1000;

/** Returns what the reader may do to one of the clients, or to a node. */
export function actionsOf(target: string, clients: readonly string[]): readonly Action[] {
  return [
    ...(clients.includes(target) ? clientActions(target) : nodeActions(target, clients)),
    ...clockActions(target),
  ];
}

function nodeActions(node: string, clients: readonly string[]): readonly Action[] {
  const crash = { kind: "node crash", node, forMs: ttlMs, isSilent: false } as const;
  return [
    {
      id: "crash",
      label: `Crash for ${ttlMs} ms`,
      faultAt: (atMs) => ({ ...crash, atMs, memory: "kept" }),
    },
    {
      id: "forget",
      label: "Restart without its memory",
      faultAt: (atMs) => ({ ...crash, atMs, memory: "lost", forMs: 1 }),
    },
    ...clients.map((client, index): Action => {
      const cut = { kind: "partition", clients: [client], nodes: [node], part: "both", forMs: ttlMs } as const;
      return {
        id: `cut-${index + 1}`,
        label: `Cut the link to ${client} for ${ttlMs} ms`,
        faultAt: (atMs) => ({ ...cut, atMs }),
      };
    }),
  ];
}

function clientActions(client: string): readonly Action[] {
  const [pauseMs, longMs] = [1.5 * ttlMs, 2 * ttlMs];
  return [
    {
      id: "pause",
      label: `Pause for ${pauseMs} ms`,
      faultAt: (atMs) => ({ kind: "pause", client, atMs, forMs: pauseMs, step: 0 }),
    },
    {
      id: "stall",
      label: `Pause for ${longMs} ms before its next access`,
      faultAt: (atMs) => ({ kind: "pause before acting", client, atMs, forMs: longMs }),
    },
    { id: "crash", label: "Crash", faultAt: (atMs) => ({ kind: "client crash", client, atMs }) },
  ];
}

function clockActions(of: string): readonly Action[] {
  return [ttlMs, -ttlMs].map((byMs) => {
    const direction = byMs < 0 ? "back" : "forward";
    return {
      id: `clock-${direction}`,
      label: `Set its clock ${ttlMs} ms ${direction}`,
      faultAt: (atMs) => ({ kind: "clock jump", of, atMs, byMs }),
    };
  });
}

/** No story is longer, in milliseconds. */
const longestMs = 60_000;

/**
 * Returns the fault of a deed.
 *
 * @throws {RangeError} if there is no such action, or no such moment
 */
export function faultOf({ action, target, atMs }: Deed, clients: readonly string[]): Fault {
  const found = actionsOf(target, clients).find(({ id }) => id === action);
  if (found === undefined || !(atMs >= 0 && atMs <= longestMs))
    throw new RangeError(`nobody can "${action}" ${target} at ${atMs} ms`);
  return found.faultAt(atMs);
}
