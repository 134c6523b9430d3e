import { setTimeout as sleep } from "node:timers/promises";
import { startWorkerProcess, type WorkerProcess } from "@holdfast/app-kit/worker-process";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import type { Chronicler } from "./chronicle.ts";
import type { MemberFunctions } from "./member-process.ts";
import type { MemberOrder } from "./messages.ts";
import type { Stage } from "./stages.ts";
import { createTurns } from "./turns.ts";

/** How long anything that a client is asked for may take: it waits for locks that other clients hold. */
const patienceMs = 90_000;

/** A client, as its parent sees it: one process after another, each of the client's stage. */
export interface Member {
  readonly name: string;
  readonly stage: Stage;
  /** Whether nothing is done to the client at the moment. */
  readonly isIdle: boolean;
  start(): Promise<void>;
  /** Takes the client to another stage: with a second `Redlock`, or by a restart of the process. */
  enter(stage: Stage, how: "second Redlock" | "restart"): Promise<void>;
  /** Kills the process, and starts another one of the same stage after a while. */
  kill(downMs: number): Promise<void>;
  /** Stops the process for a while. */
  pause(pauseMs: number): Promise<void>;
  /** Lets the client release its locks, and ends it. */
  leave(): Promise<void>;
}

/** Makes a client, which {@link Member.start} starts. */
export function createMember(
  program: string,
  order: MemberOrder,
  recorder: () => Chronicler,
  broken: (error: Error) => void,
  cleanup: Cleanup,
): Member {
  const { client } = order;
  let stage = order.stage;
  let process: WorkerProcess<MemberFunctions>;
  const turns = createTurns();
  let waiting = 0;
  /** Does one thing after another to this client. */
  const inTurn = (action: () => Promise<void>): Promise<void> => {
    waiting += 1;
    return turns(action).finally(() => {
      waiting -= 1;
    });
  };
  const launch = async (): Promise<void> => {
    const { events } = recorder();
    const launched = startWorkerProcess<MemberFunctions>(program, { name: client, events });
    process = launched;
    cleanup.defer(launched.stop);
    void launched.ended.then(() => {
      if (launched === process && !expectedEnds.has(launched)) broken(launched.endError as Error);
    });
    await launched.call("open", patienceMs, { ...order, stage });
  };
  const expectedEnds = new WeakSet<object>();
  const end = async (): Promise<void> => {
    await process.call("leave", patienceMs);
    expectedEnds.add(process);
    await process.stop();
  };
  return {
    name: client,
    get stage() {
      return stage;
    },
    get isIdle() {
      return waiting === 0;
    },
    start: () => inTurn(launch),
    enter: (next, how) =>
      inTurn(async () => {
        if (how === "restart") await end();
        stage = next;
        if (how === "restart") await launch();
        else await process.call("enter", patienceMs, next);
      }),
    kill: (downMs) =>
      inTurn(async () => {
        expectedEnds.add(process);
        const killedAtMs = monotonicMs();
        await process.stop();
        recorder().killed(client, killedAtMs);
        await sleep(downMs);
        await launch();
      }),
    pause: (pauseMs) =>
      inTurn(async () => {
        process.pause();
        await sleep(pauseMs);
        process.resume();
      }),
    leave: () => inTurn(end),
  };
}

/** Takes all clients to another stage, one after another, and resolves when the locks of the former stage have ended. */
export async function enterAll(members: readonly Member[], stage: Stage, durationMs: number): Promise<void> {
  const entered = members.map(async (member, index) => {
    await sleep((durationMs * index) / members.length);
    await member.enter(stage, index % 2 === 0 ? "second Redlock" : "restart");
  });
  await Promise.all(entered);
}

/** Waits until each client has got a lock at this stage, and returns the clients that have got none in time. */
export async function allServed(
  members: readonly Member[],
  stage: Stage,
  { chronicle }: Chronicler,
): Promise<string[]> {
  const deadlineMs = monotonicMs() + patienceMs;
  for (;;) {
    const served = new Set(chronicle.granted.filter(({ epoch }) => epoch === stage.epoch).map(({ client }) => client));
    const waiting = members.filter(({ name }) => !served.has(name)).map(({ name }) => name);
    if (waiting.length === 0 || monotonicMs() > deadlineMs) return waiting;
    await sleep(50);
  }
}
