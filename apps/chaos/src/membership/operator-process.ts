/** The operator of a change, in a process of its own, which may be killed at any moment and started again. */
import { serveParent } from "@holdfast/app-kit/worker";
import { type JointSet, Redlock } from "@holdfast/core";
import type { Floor, LockNode } from "@holdfast/core/node";
import { heal, migration } from "@holdfast/membership";
import { connect } from "../adapters/ioredis.ts";
import { connectStage } from "../world/connect.ts";
import type { Change, Stage } from "../world/stages.ts";

/** What an operator is started with. */
export interface OperatorOrder {
  /** The addresses of all servers, by name. */
  readonly urls: Readonly<Record<string, string>>;
  /** The ttl of all locks. */
  readonly ttlMs: number;
  /** Whether it writes no floors. */
  readonly ignoresFloors: boolean;
}

const nodeTimeoutMs = 1_000;

/** For how long no older client may have held a lock before a step goes on, and how long the step waits for that. */
const watch = { watchMs: 1_000, settleMs: 30_000 };

/** The steps of a change. */
export type Step = "begin" | "join" | "end";

const functions = {
  /** Carries out a step. Repeats it if it failed before. */
  step(order: OperatorOrder, change: Change, step: Step): Promise<unknown> {
    const { generation } = change.before;
    const carryOut = (nodes: Nodes) => migration(nodes as JointSet, { generation, nodeTimeoutMs, ...watch })[step]();
    return withNodes(order, change.joint, carryOut, order.ignoresFloors ? withoutFloor : undefined);
  },

  /** Heals a server that restarted empty. */
  heal(order: OperatorOrder, stage: Stage, server: string): Promise<unknown> {
    const options = { generation: stage.generation, nodeTimeoutMs, settleMs: order.ttlMs };
    return withNodes(order, stage, (nodes) => heal(nodes, server, options));
  },

  /** Tries to lock as a client of a stage, and resolves with the error, or with undefined if the client is served. */
  probe: (order: OperatorOrder, stage: Stage): Promise<string | undefined> =>
    withNodes(order, stage, async (nodes) => {
      const { generation } = stage;
      await using redlock = new Redlock(nodes, { generation, ttlMs: order.ttlMs, nodeTimeoutMs: order.ttlMs / 4 });
      // A client that nodes refuse is told so at once, and the others may have to wait for a server.
      const locked = redlock.acquire("probe", { waitTimeoutMs: 10_000 }).then((lock) => lock.release());
      return await locked.then(
        () => undefined,
        (error: Error) => error.message,
      );
    }),
};

type Nodes = readonly LockNode[] | JointSet;

/** Connects to the servers of a stage, and disconnects when the action has settled. */
async function withNodes<T>(
  { urls }: OperatorOrder,
  stage: Stage,
  action: (nodes: Nodes) => Promise<T>,
  adapt?: (node: LockNode) => LockNode,
): Promise<T> {
  const { nodes, close } = await connectStage(stage, { connect, urls, adapt });
  try {
    return await action(nodes);
  } finally {
    await close();
  }
}

/** Returns the node as it would be if it kept its epoch and no floor, though it claims to. */
function withoutFloor(node: LockNode): LockNode {
  let claimed = 0;
  return {
    ...node,
    async raiseFloor(request): Promise<Floor> {
      claimed = Math.max(claimed, request.floor);
      const raised = await node.raiseFloor?.({ ...request, floor: 0 });
      return { floor: claimed, epoch: raised?.epoch ?? 0 };
    },
  };
}

/** The functions that the parent calls. */
export type OperatorFunctions = typeof functions;

serveParent(functions);
