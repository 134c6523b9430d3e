import { type JointSet, type LockNode, Redlock } from "@holdfast/core";
import { heal, migration } from "@holdfast/membership";
import type { SimulateOptions, Tools } from "@holdfast/simulation";
import { altered } from "./scenes.ts";

/** Parts of a world with one mistake each. */
type Wrong = Pick<SimulateOptions, "createNode" | "tools">;

type Nodes = readonly LockNode[] | JointSet;

/** Nodes that do not check the epoch of clients. */
export const withoutEpochs: Wrong = {
  createNode: altered((right) => ({
    async acquire(request) {
      const { epoch } = await right.raiseFloor({ floor: 0, epoch: 0, timeoutMs: 1 });
      return right.acquire({ ...request, epoch: Math.max(1, epoch) });
    },
  })),
};

/** Nodes that report a floor, and grant below it. */
export const ignoringFloors: Wrong = {
  createNode: altered((right) => {
    let floor = 0;
    return {
      async raiseFloor(request) {
        floor = Math.max(floor, request.floor);
        return { ...(await right.raiseFloor({ ...request, floor: 0 })), floor };
      },
    };
  }),
};

/** Joint clients that need a quorum of the old set only. */
export const oneMajority: Wrong = {
  tools: {
    createRedlock: (nodes, options) => new Redlock("old" in nodes ? { ...nodes, new: nodes.old } : nodes, options),
  },
};

/** A migration that begins only when clients are to leave the joint stage, so that nothing stops those that skip it. */
export const beginningLate: Wrong = {
  tools: {
    migration(set, options) {
      const right = migration(set, options);
      return {
        status: () => right.status(),
        begin: () => right.status(),
        async join() {
          await right.begin();
          return right.join();
        },
        end: () => right.end(),
      };
    },
  },
};

/** A migration that writes the floor while clients of the stage before still have locks: it does not see their claims. */
export const notSettling: Wrong = migratingOver((node) => ({
  scan: async (request) => ({ ...(await node.scan(request)), claims: [] }),
}));

/** A migration that writes no floor. */
export const migratingWithoutFloor: Wrong = migratingOver(withoutFloor);

/** Healing that writes no floor. */
export const healingWithoutFloor: Wrong = healingBy((nodes, names, options) => {
  return heal(overEach(nodes, withoutFloor), names, options);
});

/** Healing that reads fewer nodes than N - q + 1. */
export const healingFromTooFew: Wrong = healingBy((nodes, names, options) => {
  const all = nodes as readonly LockNode[];
  const others = all.filter(({ name }) => name !== names).toReversed();
  const few = others.slice(0, Math.ceil(all.length / 2) - 1);
  return heal([...all.filter(({ name }) => name === names), ...few], names, options);
});

/** Healing that does not wait for the attempts that were in progress when the counters were lost. */
export const healingAtOnce: Wrong = healingBy((nodes, names, options) =>
  heal(nodes, names, { ...options, settleMs: 0 }),
);

type FullNode = LockNode & Required<Pick<LockNode, "raiseFloor" | "scan">>;

/** Pretends that a floor was written, as the tools check it. */
function withoutFloor({ raiseFloor }: FullNode): Partial<LockNode> {
  let floor = 0;
  return {
    async raiseFloor(request) {
      floor = Math.max(floor, request.floor);
      return { ...(await raiseFloor({ ...request, floor: 0 })), floor };
    },
  };
}

function healingBy(wrong: Tools["heal"]): Wrong {
  return { tools: { heal: wrong } };
}

function migratingOver(alter: (node: FullNode) => Partial<LockNode>): Wrong {
  return { tools: { migration: (set, options) => migration(overEach(set, alter), options) } };
}

/** Alters each node once, so that a node in both sets stays one node. */
function overEach<Given extends Nodes>(nodes: Given, alter: (node: FullNode) => Partial<LockNode>): Given {
  const made = new Map<LockNode, LockNode>();
  const alterOnce = (node: LockNode): LockNode => {
    const { name, acquire, extend, release } = node;
    const known = made.get(node);
    const altered = known ?? { name, acquire, extend, release, ...methodsOf(node), ...alter(node as FullNode) };
    made.set(node, altered);
    return altered;
  };
  if (!("old" in nodes)) return (nodes as readonly LockNode[]).map(alterOnce) as readonly LockNode[] as Given;
  return { old: nodes.old.map(alterOnce), new: nodes.new.map(alterOnce) } as JointSet as Given;
}

function methodsOf({ raiseFloor, scan }: LockNode): Partial<LockNode> {
  return { ...(raiseFloor && { raiseFloor }), ...(scan && { scan }) };
}
