/** The operator of a change, in a process of its own, which may be killed at any moment and started again. */
import { serveParent } from "@holdfast/app-kit/worker";
import { Redlock } from "@holdfast/core";
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
  async step(order: OperatorOrder, change: Change, step: Step): Promise<unknown> {
    const { nodes, close } = await open(order, change.joint, order.ignoresFloors ? withoutFloor : undefined);
    const { old, new: next } = nodes as Extract<typeof nodes, { old: unknown }>;
    const { generation } = change.before;
    try {
      return await migration({ old, new: next }, { generation, nodeTimeoutMs, ...watch })[step]();
    } finally {
      await close();
    }
  },

  /** Heals a server that restarted empty. */
  async heal(order: OperatorOrder, stage: Stage, server: string): Promise<unknown> {
    const { nodes, close } = await open(order, stage);
    try {
      return await heal(nodes, server, { generation: stage.generation, nodeTimeoutMs, settleMs: order.ttlMs });
    } finally {
      await close();
    }
  },

  /** Tries to lock as a client of a stage, and resolves with the error, or with undefined if the client is served. */
  async probe(order: OperatorOrder, stage: Stage): Promise<string | undefined> {
    const { nodes, close } = await open(order, stage);
    const { generation } = stage;
    const redlock = new Redlock(nodes, { generation, ttlMs: order.ttlMs, nodeTimeoutMs: order.ttlMs / 4 });
    try {
      // A client that nodes refuse is told so at once, and the others may have to wait for a server.
      const lock = await redlock.acquire("probe", { waitTimeoutMs: 10_000 });
      await lock.release();
      return undefined;
    } catch (error) {
      return (error as Error).message;
    } finally {
      await redlock.close();
      await close();
    }
  },
};

function open({ urls }: OperatorOrder, stage: Stage, adapt?: (node: LockNode) => LockNode) {
  return connectStage(stage, { connect, urls, adapt });
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
