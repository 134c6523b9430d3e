/** A process of the soak. It runs programs over two clients of the servers, and over memory nodes. */
import { setTimeout as sleep } from "node:timers/promises";
import { createDice } from "@holdfast/app-kit/dice";
import { collectGarbage } from "@holdfast/app-kit/garbage";
import { type ConnectedNodes, connectNodes } from "@holdfast/app-kit/nodes";
import { serveParent } from "@holdfast/app-kit/worker";
import { type LockNode, Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import { names } from "../names.ts";
import { type Program, run, type SoakLock } from "./program.ts";

/** What a process is started with. */
export interface WorkerOrder {
  /** Its name, such as `w1`. */
  readonly name: string;
  readonly seed: number;
  readonly urls: readonly string[];
}

/** What the programs of a process did in a round. */
export interface Work {
  readonly locks: readonly SoakLock[];
  readonly gaveUp: number;
  /** The unexpected errors of programs. */
  readonly failures: readonly string[];
  /** What each program is doing that has not ended, if one of them hangs. */
  readonly hang: readonly string[];
}

/** A step counts as hung after this time, in milliseconds. */
const hangMs = 20_000;

/** How long the programs may take to end, in milliseconds. They wait only for others that end, too. */
const drainMs = 30_000;

/** How long handles may take to close, in milliseconds. */
const closeMs = 5_000;

let before: readonly string[];
let connected: readonly ConnectedNodes[];
let programs: readonly Program[];

const functions = {
  /** Connects to all servers. */
  async open(order: WorkerOrder): Promise<void> {
    before = process.getActiveResourcesInfo();
    connected = [await connectNodes("ioredis", order.urls), await connectNodes("node-redis", order.urls)];
    const overMemory = Array.from({ length: 5 }, () => memoryNode());
    programs = [
      ...connected.flatMap(({ nodes }, index) => programsOver(nodes, "shared", index, order)),
      ...programsOver(overMemory, `${order.name}.memory`, connected.length, order),
    ];
  },

  /** Runs all programs for that time, and resolves when they have ended, or when one of them hangs. */
  async work(ms: number): Promise<Work> {
    const endMs = monotonicMs() + ms;
    const failures: string[] = [];
    const ended = programs.map((program) =>
      run(program, () => monotonicMs() > endMs).catch((error) => failures.push(`${program.name} failed with ${error}`)),
    );
    let isOver = false;
    const over = Promise.all(ended).then(() => {
      isOver = true;
    });
    while (!isOver && !isHung(endMs)) await Promise.race([over, sleep(100)]);
    const diaries = programs.map(({ diary }) => diary);
    const hang = isOver ? [] : programs.filter(({ diary }) => diary.step !== "").map(describe);
    const gaveUp = diaries.reduce((sum, diary) => sum + diary.gaveUp, 0);
    return { locks: diaries.flatMap((diary) => diary.locks.splice(0)), gaveUp, failures, hang };
  },

  /** Returns the heap in use after garbage collection, in MB. */
  async heapMb(): Promise<number> {
    for (let pass = 0; pass < 4; pass++) {
      collectGarbage();
      await sleep(10); // for memory that a callback frees
    }
    return process.memoryUsage().heapUsed / 2 ** 20;
  },

  /** Closes everything, returns the kinds of the handles that are still open, and lets the process exit. */
  async close(): Promise<readonly string[]> {
    await Promise.all(connected.map(({ close }) => close()));
    const left = await leftOpen();
    void parent.leave();
    return left;
  },
};

/** The functions that the parent calls. */
export type SoakFunctions = typeof functions;

const parent = serveParent(functions);

/** Programs that want the same few resources, and others that find most of theirs free, and hold them for a moment. */
function programsOver(nodes: readonly LockNode[], space: string, index: number, order: WorkerOrder): Program[] {
  // Generous: a machine that is busy with something else must not count as a finding.
  const redlock = new Redlock(nodes, { ttlMs: 30_000, nodeTimeoutMs: 5_000 });
  const kinds = [
    { count: 12, resources: names(`${space}:wanted-`, 8), holdMsMax: 4, patienceMsMax: 40 },
    { count: 4, resources: names(`${order.name}.${index}:free-`, 500).sort(), holdMsMax: 0, patienceMsMax: 0 },
  ];
  return kinds.flatMap(({ count, ...kind }, which) =>
    names(`${order.name}.${index + 1}.${which + 1}.`, count).map((name, number) => ({
      ...{ ...kind, name, redlock },
      dice: createDice(order.seed * 1_000 + index * 100 + which * 50 + number),
      diary: { locks: [], gaveUp: 0, held: [], step: "", sinceMs: 0 },
    })),
  );
}

function isHung(endMs: number): boolean {
  const nowMs = monotonicMs();
  return nowMs > endMs + drainMs || programs.some(({ diary }) => diary.step !== "" && nowMs - diary.sinceMs > hangMs);
}

/** Says what a program is doing. */
function describe({ name, diary: { step, sinceMs, held } }: Program): string {
  const holding = held.length > 0 ? `, and holds ${held.join(", ")}` : "";
  return `${name} ${step} since ${((monotonicMs() - sinceMs) / 1_000).toFixed(1)} s${holding}`;
}

/** Waits until nothing more keeps the process alive than at the start, and returns what does after a time limit. */
async function leftOpen(): Promise<string[]> {
  for (const endMs = monotonicMs() + closeMs; ; await sleep(20)) {
    const left = process.getActiveResourcesInfo();
    for (const kind of before) {
      const index = left.indexOf(kind);
      if (index !== -1) left.splice(index, 1);
    }
    if (left.length === 0 || monotonicMs() > endMs) return left;
  }
}
