import { setImmediate, setTimeout } from "node:timers/promises";
import { EpochError } from "@holdfast/core";
import {
  type AcquireReply,
  type AcquireRequest,
  assertFloor,
  type FloorRequest,
  type LockNode,
} from "@holdfast/core/node";
import { dayMs } from "../world/durations.ts";
import { type BrokenNode, brokenIf, on, type Wrapper, withGrants } from "./broken-node.ts";

/** A floor and an epoch that a wrapper keeps or has seen. */
interface State {
  floor: number;
  epoch: number;
}

/** Raises each number on its own, as a correct node does. */
function raise(state: State, { floor, epoch }: FloorRequest): void {
  state.floor = Math.max(state.floor, floor);
  state.epoch = Math.max(state.epoch, epoch);
}

/** Keeps the floor and the epoch in the wrapper, where the node does not see them. */
function keeping(change: typeof raise = raise): { state: State; methods: Pick<Required<LockNode>, "raiseFloor"> } {
  const state = { floor: 0, epoch: 0 };
  return {
    state,
    methods: {
      async raiseFloor(request) {
        assertFloor(request);
        change(state, request);
        return { ...state };
      },
    },
  };
}

/**
 * Keeps the floor in the wrapper, and obeys it by a higher hint, which shared claims that join ignore.
 *
 * @param obeys whether a request obeys the floor
 */
function hinting(
  obeys: (request: AcquireRequest, node: Required<LockNode>) => boolean | Promise<boolean> = () => true,
  change?: typeof raise,
): Wrapper {
  return (node) => {
    const { state, methods } = keeping(change);
    return {
      ...methods,
      async acquire(request) {
        if (!(await obeys(request, node))) return node.acquire(request);
        return node.acquire({ ...request, fenceHint: Math.max(request.fenceHint, state.floor + 1) });
      },
    };
  };
}

/** Changes a node that obeys the floor and the epoch. `state` is what it has been raised to. */
function knowing(change: (state: Readonly<State>, node: Required<LockNode>) => Partial<LockNode>): Wrapper {
  return (node) => {
    const state = { floor: 0, epoch: 0 };
    return {
      async raiseFloor(request) {
        const reply = await node.raiseFloor(request);
        raise(state, { ...reply, timeoutMs: 0 });
        return reply;
      },
      ...change(state, node),
    };
  };
}

/** Changes the fences of grants, given the floor. */
function fencing(change: (fence: number, floor: number, request: AcquireRequest) => number): Wrapper {
  return knowing((state, node) => withGrants(node, (fence, request) => change(fence, state.floor, request)));
}

/** Changes what happens to requests that the node refuses for their epoch. */
function refusing(
  change: (request: AcquireRequest, node: Required<LockNode>, error: EpochError, state: State) => Promise<AcquireReply>,
): Wrapper {
  return knowing((state, node) => ({
    acquire: (request) =>
      node.acquire(request).catch((error) => {
        if (error instanceof EpochError) return change(request, node, error, state);
        throw error;
      }),
  }));
}

/** Does something for each request that the node refuses for its epoch, before it is refused. */
function meddling(
  meddle: (request: AcquireRequest, node: Required<LockNode>, state: State) => Promise<unknown>,
): Wrapper {
  return refusing(async (request, node, error, state) => {
    await meddle(request, node, state);
    throw error;
  });
}

/** Changes the epochs of requests. */
function pretending(epochOf: (epoch: number | undefined, nodeEpoch: number) => number | undefined): Wrapper {
  return knowing((state, node) => ({
    acquire({ epoch, ...request }) {
      const pretended = epochOf(epoch, state.epoch);
      return node.acquire(pretended === undefined ? request : { ...request, epoch: pretended });
    },
  }));
}

/** Refuses the owners of some epochs in other calls than `acquire`. */
function refusingHolders(method: "extend" | "release"): Wrapper {
  return knowing((state, node) => {
    const epochs = new Map<string, number>();
    return {
      async acquire(request) {
        const reply = await node.acquire(request);
        if (reply.granted) epochs.set(request.owner, request.epoch ?? 1);
        return reply;
      },
      async [method](request: never) {
        const epoch = epochs.get((request as AcquireRequest).owner);
        if (epoch !== undefined && epoch < state.epoch) throw new EpochError(state.epoch, epoch);
        return node[method](request);
      },
    };
  });
}

async function isHeld(node: Required<LockNode>, resource: string): Promise<boolean> {
  return (await node.inspect(resource)).owner !== null;
}

/** Replies at once, and raises a moment later. */
function raisingLater(node: Required<LockNode>): Partial<LockNode> {
  const { state, methods } = keeping();
  return {
    async raiseFloor(request) {
      await methods.raiseFloor(request);
      setTimeout(5)
        .then(() => node.raiseFloor(request))
        .catch(() => {});
      return { ...state };
    },
  };
}

/** Forgets the floor and the epoch some time after they were raised. */
function forgettingAfter(node: Required<LockNode>, elapsedMs: () => number, afterMs: number): Partial<LockNode> {
  let raisedAtMs = 0;
  const { state, methods } = keeping();
  const current = (): State => (elapsedMs() - raisedAtMs < afterMs ? state : { floor: 0, epoch: 0 });
  return {
    async raiseFloor(request) {
      if (request.floor > 0 || request.epoch > 0) raisedAtMs = elapsedMs();
      await methods.raiseFloor(request);
      return { ...current() };
    },
    async acquire(request) {
      const { floor, epoch } = current();
      const { epoch: clientEpoch = 1 } = request;
      if (epoch > 0 && Math.abs(clientEpoch - epoch) > 1) throw new EpochError(epoch, clientEpoch);
      return node.acquire({ ...request, fenceHint: Math.max(request.fenceHint, floor + 1) });
    },
  };
}

/** Treats a request that is refused for its epoch as one that waits. */
const enlistingRefused = meddling(async (request, node, { epoch }) => {
  if (await isHeld(node, request.resources[0] as string)) await node.acquire({ ...request, epoch });
});

/** Faults in the floor and the epoch. Each of them can repeat fences, or let two clients hold one lock. */
export const brokenFloors: readonly BrokenNode[] = [
  ...brokenIf(["floor"], {
    "the node offers raiseFloor() and scan()": {
      "has raiseFloor() and not scan()": () => ({ scan: undefined }) as unknown as Partial<LockNode>,
    },
    "acquire() grants one more than the floor if the counter is lower, through either client": {
      "replies to raiseFloor() before the floor is in force": raisingLater,
      "keeps a floor and ignores it": () => keeping().methods,
      "ignores the floor in a takeover": hinting(({ takeover }) => takeover === undefined),
    },
    "acquire() grants one more than the counter if that is not below the floor": {
      "grants one more than the floor even if the counter is higher": fencing((fence, floor) =>
        floor > 0 ? floor + 1 : fence,
      ),
    },
    "acquire() grants exactly the hint if that is above the floor": {
      "ignores the hint once it has a floor": knowing((state, node) => ({
        acquire: (request) => node.acquire({ ...request, fenceHint: state.floor > 0 ? 1 : request.fenceHint }),
      })),
    },
    "acquire() of several resources grants one more than the highest of the floor and their counters": {
      "ignores the floor for requests of several resources": hinting(({ resources }) => resources.length === 1),
    },
    "acquire() resent by the holder grants again with its fence, or with the floor": {
      "repeats a grant with a fence above the floor": fencing((fence, floor) => Math.max(fence, floor + 1)),
    },
    "acquire() resent for several resources grants with their highest counter, or with the floor": {
      "repeats a grant of several resources with a fence above the floor": fencing((fence, floor, { resources }) =>
        resources.length === 1 ? fence : Math.max(fence, floor + 1),
      ),
    },
    "acquire() grants the largest safe integer, and then rejects and claims nothing": {
      "grants the largest safe integer twice": on("acquire", (request, node) =>
        node.acquire(request).catch(() => ({ granted: true, fence: Number.MAX_SAFE_INTEGER })),
      ),
    },
    "acquire() of a shared claim grants one more than the floor, or the floor itself if it joins lower counters": {
      "ignores the floor for a shared claim that joins": hinting(),
      "advances the counter beyond the floor for a shared claim that joins": knowing((state, node) => ({
        async acquire(request) {
          const reply = await node.acquire(request);
          if (!reply.granted || !request.shared || reply.fence > state.floor || state.floor === 0) return reply;
          await node.extend({ ...request, fence: state.floor + 1, rejoin: false });
          return { granted: true, fence: state.floor + 1 };
        },
      })),
    },
    "acquire() of a shared claim on several resources obeys the floor, whether it joins on all or on some of them": {
      "sets the counter of sharers back to the floor": fencing((fence, floor, request) =>
        request.shared && floor > 0 ? floor : fence,
      ),
    },
    "extend() raises the counter no further than its fence, or the floor": {
      "raises counters above the floor in extensions": knowing((state, node) => ({
        extend: (request) => node.extend({ ...request, fence: Math.max(request.fence, state.floor + 1) }),
      })),
    },
    "extend() with rejoin of a shared claim leaves the counter alone where it joins, or at the floor": {
      "raises the counter above the floor when it rejoins a shared claim": knowing((state, node) => ({
        extend: (request) =>
          node.extend(request.shared && request.rejoin ? { ...request, fence: state.floor + 1 } : request),
      })),
    },
    "raiseFloor() raises the floor and the epoch each only if it is lower, for both clients": {
      "refuses later epochs while it has none": on("acquire", async (request, node) => {
        if ((request.epoch ?? 1) > 2) throw new EpochError(1, request.epoch ?? 1);
        return node.acquire(request);
      }),
      "keeps the floor and the epoch in each client": { perClient: hinting() },
      "sets the floor and the epoch to those of the latest request": hinting(undefined, (state, { floor, epoch }) =>
        Object.assign(state, { floor, epoch }),
      ),
      "raises the floor and the epoch only if both are higher": hinting(undefined, (state, request) => {
        if (request.floor >= state.floor && request.epoch >= state.epoch) raise(state, request);
      }),
    },
    "raiseFloor() keeps every digit of the floor and the epoch": {
      "limits the floor like a hint": hinting(),
      "loses the last digits of a large floor": on("raiseFloor", async (request, node) => {
        const floor = request.floor > 10 ** 14 ? Math.floor(request.floor / 100) * 100 : request.floor;
        const reply = await node.raiseFloor({ ...request, floor });
        return { ...reply, floor: Math.max(reply.floor, request.floor) };
      }),
    },
    "raiseFloor() rejects a malformed request, and changes nothing": {
      "accepts any floor": on("raiseFloor", (request, node) =>
        node.raiseFloor({ ...request, floor: Math.max(0, Math.trunc(Number(request.floor)) || 0) }),
      ),
    },
    "raiseFloor() sent many times at once leaves the highest floor and the highest epoch": {
      "reads the floor, compares it, and writes it in a second step": () => {
        let stored = { floor: 0, epoch: 0 };
        return {
          async raiseFloor(request) {
            const state = { ...stored };
            await setImmediate();
            raise(state, request);
            stored = state;
            return { ...state };
          },
        };
      },
    },
    "the floor and the epoch last for seconds, and outlive claims and counters": {
      "forgets the floor after two seconds": (node, elapsedMs) => forgettingAfter(node, elapsedMs, 2_000),
    },
    "acquire() is served if its epoch differs from that of the node by 1 at most, and no other": {
      "serves every request without an epoch": pretending((epoch, nodeEpoch) =>
        nodeEpoch > 0 ? (epoch ?? nodeEpoch) : epoch,
      ),
      "serves clients of older epochs": pretending((epoch = 1, nodeEpoch) => Math.max(epoch, nodeEpoch)),
      "serves clients of the epoch after the next one": pretending((epoch = 1, nodeEpoch) =>
        nodeEpoch > 0 && epoch === nodeEpoch + 2 ? nodeEpoch : epoch,
      ),
      "refuses clients of the next epoch": pretending((epoch = 1, nodeEpoch) =>
        nodeEpoch > 0 && epoch === nodeEpoch + 1 ? nodeEpoch + 2 : epoch,
      ),
      "refuses clients of the previous epoch": pretending((epoch = 1, nodeEpoch) =>
        epoch === nodeEpoch - 1 ? nodeEpoch + 2 : epoch,
      ),
      "rejects with an error that does not tell that the epoch is the reason": refusing(
        async (_request, _node, { message }) => {
          throw new Error(message);
        },
      ),
      "denies requests of other epochs": refusing(async () => ({ granted: false })),
    },
    "acquire() that is refused for its epoch claims nothing, and changes no counter": {
      "refuses a request for its epoch, and has advanced the counter": meddling(async (request, node, { epoch }) => {
        const { granted } = await node.acquire({ ...request, epoch });
        if (granted) await node.release(request);
      }),
      "refuses a request for its epoch, and has claimed the first of several resources": meddling(
        async (request, node, { epoch }) => {
          const resources = request.resources.slice(0, 1);
          if (request.resources.length > 1) await node.acquire({ ...request, resources, epoch });
        },
      ),
    },
    "acquire() of a shared claim is refused for its epoch, and does not join": {
      "refuses a shared request for its epoch, and has joined": meddling(async (request, node, { epoch }) => {
        if (request.shared) await node.acquire({ ...request, epoch });
      }),
    },
    "acquire() is refused for its epoch while another owner holds the resource, and changes nothing": {
      "refuses a takeover for its epoch, and has ended the old claim": meddling(async (request, node) => {
        if (request.takeover !== undefined) await node.release({ ...request, owner: request.takeover });
      }),
    },
    "extend() and release() serve holders of all epochs": {
      "does not extend the claims of older epochs": refusingHolders("extend"),
      "does not release the claims of older epochs": refusingHolders("release"),
      "rejoins nothing once it has an epoch": knowing((state, node) => ({
        extend: (request) => node.extend(state.epoch > 0 ? { ...request, rejoin: false } : request),
      })),
    },
  }),
  ...brokenIf(["floor", "inspect"], {
    "acquire() grants one more than the floor if the counter is lower, through either client": {
      "obeys the floor only for resources without a counter": hinting(
        async ({ resources }, node) => (await node.inspect(resources[0] as string)).fence === 0,
      ),
    },
    "inspect() returns the floor beside the counter, or the counter that it has raised": {
      "inspects counters as if they were above the floor": knowing((state, node) => ({
        async inspect(resource) {
          const view = await node.inspect(resource);
          return { ...view, fence: Math.max(view.fence, state.floor + 1) };
        },
      })),
    },
    "acquire() is refused for its epoch while another owner holds the resource, and changes nothing": {
      "looks at the epoch only when nothing else blocks the request": refusing(async (request, node, error) => {
        if (await isHeld(node, request.resources[0] as string)) return { granted: false };
        throw error;
      }),
      "repeats a grant to a holder whose epoch it no longer serves": refusing(async (request, node, error) => {
        const { owner, fence } = await node.inspect(request.resources[0] as string);
        if (owner === request.owner) return { granted: true, fence };
        throw error;
      }),
    },
  }),
  ...brokenIf(["floor", "inspect", "ownFloor"], {
    "acquire() grants one more than the floor if the counter is lower, through either client": {
      "raises the counters that it has to the floor, and misses absent ones": hinting(
        async ({ resources }, node) => (await node.inspect(resources[0] as string)).fence > 0,
      ),
    },
    "inspect() returns the floor beside the counter, or the counter that it has raised": {
      "does not show its floor": on("inspect", async (resource, node) => {
        const { floor: _, ...view } = await node.inspect(resource);
        return view;
      }),
    },
  }),
  ...brokenIf(["floor", "ownFloor"], {
    "acquire() grants the largest safe integer, and then rejects and claims nothing": {
      "claims before it finds that no safe integer is left": on("acquire", (request, node) =>
        node.acquire(request).catch(async (error) => {
          await node.extend({ ...request, fence: 1, rejoin: true }).catch(() => {});
          throw error;
        }),
      ),
    },
    "extend() with rejoin advances the counter itself, or the floor that has raised it": {
      "does not advance a counter that it raises to the floor when it rejoins": knowing((state, node) => ({
        extend: (request) =>
          node.extend(request.rejoin ? { ...request, fence: Math.max(request.fence, state.floor) } : request),
      })),
    },
  }),
  ...brokenIf(["floor", "advance"], {
    "the floor and the epoch last for seconds, and outlive claims and counters": {
      "forgets the floor with the counters, after a day": (node, elapsedMs) => forgettingAfter(node, elapsedMs, dayMs),
    },
  }),
  ...brokenIf(["floor", "server"], {
    "the floor and the epoch outlive the connection that raised them": {
      "loses the floor when its connection is lost": (node) => {
        const { state, methods } = keeping();
        return {
          ...hinting()(node, () => 0),
          async raiseFloor(request) {
            await node.raiseFloor({ ...request, floor: 0, epoch: 0 }).catch((error) => {
              Object.assign(state, { floor: 0, epoch: 0 });
              throw error;
            });
            return methods.raiseFloor(request);
          },
        };
      },
    },
    "raiseFloor() and scan() reject in time while the server is unreachable": {
      "confirms a floor while its server is unreachable": on("raiseFloor", (request, node) =>
        node.raiseFloor(request).catch(() => request),
      ),
    },
  }),
  ...brokenIf(["floor", "otherProcess"], {
    "a floor and an epoch that one process raises are obeyed by another, at once": {
      "keeps the floor in its process": hinting(),
    },
  }),
  ...brokenIf(["floor", "waitingLists"], {
    "raiseFloor() changes no waiting list": {
      "names no more waiters once the floor was raised": knowing((state, node) => ({
        release: (request) => node.release(state.floor > 0 ? { ...request, undo: true } : request),
      })),
    },
    "acquire() that is refused for its epoch removes no waiter from a waiting list": {
      "refuses a request for its epoch, and has removed its waiter from the list": meddling(
        async (request, node, { epoch }) => {
          const owner = crypto.randomUUID();
          const { granted } = await node.acquire({ ...request, owner, epoch });
          if (granted) await node.release({ ...request, owner, undo: true });
        },
      ),
    },
  }),
  ...brokenIf(["floor", "inspect", "waitingLists"], {
    "acquire() that is refused for its epoch adds its waiter to no waiting list": {
      "refuses a request for its epoch, and has added its waiter to the list": enlistingRefused,
    },
  }),
];
