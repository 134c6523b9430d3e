/** The operator of a change, in a process of its own, which may be killed at any moment and started again. */
import { serveParent } from "@holdfast/app-kit/worker";
import { type Floor, type LockNode, Redlock } from "@holdfast/core";
import { heal, migration } from "@holdfast/core/membership";
import type { ServerAddresses } from "./messages.ts";
import { connectStage } from "./sets.ts";
import type { Change, Stage } from "./stages.ts";

/** What an operator is started with. */
export interface OperatorOrder extends ServerAddresses {
  readonly nodeTimeoutMs: number;
  /** The ttl of all locks. */
  readonly ttlMs: number;
  /** How long the tool looks for claims of older stages. */
  readonly watchMs: number;
  /** How long the tool waits until those claims have ended. */
  readonly settleMs: number;
  /** Whether it writes no floors. */
  readonly ignoresFloors: boolean;
}

/** The steps of a change. */
export type Step = "begin" | "join" | "end";

let order: OperatorOrder;

const functions = {
  open(given: OperatorOrder): void {
    order = given;
  },

  /** Carries out a step. Repeats it if it failed before. */
  async step(change: Change, step: Step): Promise<unknown> {
    const { nodeTimeoutMs, watchMs, settleMs } = order;
    const { nodes, close } = await connectStage(change.joint, order, order.ignoresFloors ? withoutFloor : undefined);
    const { old, new: next } = nodes as Extract<typeof nodes, { old: unknown }>;
    const { epoch } = change.before;
    const options = { epoch, nodeTimeoutMs, watchMs, settleMs };
    try {
      return await migration({ old, new: next }, options)[step]();
    } finally {
      await close();
    }
  },

  /** Heals a server that restarted empty. */
  async heal(stage: Stage, server: string): Promise<unknown> {
    const { nodes, close } = await connectStage(stage, order);
    try {
      const { nodeTimeoutMs, ttlMs: settleMs } = order;
      return await heal(nodes, server, { nodeTimeoutMs, settleMs });
    } finally {
      await close();
    }
  },

  /** Tries to lock as a client of a stage, and resolves with the error, or with undefined if the client is served. */
  async probe(stage: Stage): Promise<string | undefined> {
    const { nodes, close } = await connectStage(stage, order);
    const redlock = new Redlock(nodes, { epoch: stage.epoch, ttlMs: order.ttlMs, nodeTimeoutMs: order.ttlMs / 4 });
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
