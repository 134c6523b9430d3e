/** A process of the waiting stress test. It runs programs over two `Redlock`s. */
import { createDice } from "@holdfast/app-kit/dice";
import { type ConnectedNodes, connectNodes } from "@holdfast/app-kit/nodes";
import { serveParent } from "@holdfast/app-kit/worker";
import { Redlock } from "@holdfast/core";
import { heapMb, leftSince } from "./leftovers.ts";
import type { ParentFunctions, WorkerOrder } from "./messages.ts";
import { type Program, run } from "./program.ts";

const programsPerRedlock = 12;
let before: readonly string[];
let connected: readonly ConnectedNodes[];
let programs: readonly Program[];
let isOver = false;

const functions = {
  /** Connects to all servers. */
  async open(order: WorkerOrder): Promise<void> {
    before = process.getActiveResourcesInfo();
    connected = [await connectNodes("ioredis", order.urls), await connectNodes("node-redis", order.urls)];
    programs = connected.flatMap(({ nodes }, index) => {
      // Generous: a machine that is busy with something else must not count as a finding.
      const redlock = new Redlock(nodes, { ttlMs: 30_000, nodeTimeoutMs: 5_000 });
      return Array.from({ length: programsPerRedlock }, (_, number) => ({
        name: `${order.name}.${index + 1}.${number + 1}`,
        redlock,
        dice: createDice(order.seed * 1_000 + index * 100 + number),
        report: async (report) => void (await parent.call("note", report)),
      }));
    });
  },
  /** Runs all programs, and resolves when they have ended. */
  async work(): Promise<void> {
    isOver = false;
    const runs = programs.map((program) =>
      run(program, () => isOver).catch((error) => parent.call("fail", program.name, String(error))),
    );
    await Promise.all(runs);
  },
  /** Ends each program after its current step. */
  stop(): void {
    isOver = true;
  },
  heapMb,
  /** Closes everything, returns the kinds of the handles that are still open, and lets the process exit. */
  async close(): Promise<readonly string[]> {
    await Promise.all(connected.map(({ close }) => close()));
    const left = await leftSince(before);
    void parent.leave();
    return left;
  },
};

/** The functions that the parent calls. */
export type StressFunctions = typeof functions;

const parent = serveParent<ParentFunctions>(functions);
