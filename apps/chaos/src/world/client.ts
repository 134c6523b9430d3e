import type { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { startWorkerProcess, type WorkerProcess } from "@holdfast/app-kit/worker-process";
import type { TcpProxy } from "@holdfast/conformance/tcp-proxy";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import type { ClientMessage, ClientOrder, Task } from "../client/messages.ts";
import type { ClientFunctions } from "../client/process.ts";
import type { Stage } from "./stages.ts";
import { createTurns } from "./turns.ts";

/** How long anything that a client is asked for may take: it waits for locks that other clients hold. */
const patienceMs = 90_000;

/** How long a client that has closed everything may take to exit, in milliseconds. */
const exitMs = 5_000;

/** Emits what clients report, and the error of a process that ends although nobody has ended it. */
export type Reports = EventEmitter<{ message: [ClientMessage]; broken: [Error] }>;

/** A client, as its parent sees it: one process after another. */
export type Client = Awaited<ReturnType<typeof startClient>>;

/** Starts a client, and resolves when its process is connected to the store. */
export async function startClient(
  program: string,
  order: ClientOrder,
  proxies: readonly TcpProxy[],
  reports: Reports,
  cleanup: Cleanup,
) {
  const { client } = order;
  const tell = (message: ClientMessage) => void reports.emit("message", message);
  let job: { stage: Stage; tasks: readonly Task[] } | undefined;
  let process: WorkerProcess<ClientFunctions>;
  /** Does one thing after another to this client. */
  const inTurn = createTurns();
  const expectedEnds = new WeakSet<object>();
  const kill = (): Promise<void> => {
    expectedEnds.add(process);
    return process.stop();
  };
  const launch = async (): Promise<void> => {
    const launched = startWorkerProcess<ClientFunctions>(program, { name: client, events: { tell } });
    process = launched;
    cleanup.defer(launched.stop);
    void launched.ended.then(() => {
      if (!expectedEnds.has(launched)) reports.emit("broken", launched.endError as Error);
    });
    await launched.call("open", patienceMs, order);
    if (job) await begin(job.stage, job.tasks);
  };
  const begin = async (stage: Stage, tasks: readonly Task[]): Promise<void> => {
    job = { stage, tasks };
    await process.call("enter", patienceMs, stage);
    await process.call("work", patienceMs, tasks);
  };
  const end = async (): Promise<string[]> => {
    expectedEnds.add(process);
    const left = await process.call("leave", patienceMs);
    const code = await Promise.race([process.ended, sleep(exitMs)]);
    await process.stop();
    return [
      ...(left.length > 0 ? [`handles are left in ${client}: ${left.join(", ")}`] : []),
      ...(code === 0 ? [] : [`${client} did not exit on its own`]),
    ];
  };
  await launch();
  return {
    name: client,
    /** Its connections to the servers, if they are proxied. */
    proxies,
    get stage() {
      return job?.stage as Stage;
    },
    /** Whether nothing is done to the client at the moment. */
    isIdle: inTurn.isIdle,
    /** Enters a stage, and starts to carry out these tasks. */
    work: (stage: Stage, tasks: readonly Task[]) => inTurn(() => begin(stage, tasks)),
    /** Ends the tasks, and resolves when the client holds no lock. */
    stop: () => inTurn(() => process.call("stop", patienceMs)),
    /** Takes the client to another stage: with a second `Redlock`, or by a restart of the process. */
    enter: (stage: Stage, how: "second Redlock" | "restart") =>
      inTurn(async () => {
        if (how === "restart") await end();
        job = { tasks: job?.tasks ?? [], stage };
        if (how === "restart") await launch();
        else await process.call("enter", patienceMs, stage);
      }),
    /** Kills the process, and starts another one with the same tasks after a while. */
    kill: (downMs: number) =>
      inTurn(async () => {
        const atMs = monotonicMs();
        await kill();
        tell({ kind: "killed", client, atMs });
        await sleep(downMs);
        await launch();
      }),
    /** Stops the process from running for a while. */
    pauseFor: (pauseMs: number) =>
      inTurn(async () => {
        process.pause();
        await sleep(pauseMs);
        process.resume();
      }),
    pause: () => process.pause(),
    resume: () => process.resume(),
    /** Lets the client release its locks and close everything, and ends it. Returns what it failed to do. */
    leave: () => inTurn(end),
    /** Calls another function of the process. */
    call: ((...args) => process.call(...args)) as WorkerProcess<ClientFunctions>["call"],
  };
}
