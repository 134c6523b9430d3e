import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { Feed } from "../feed.ts";
import type { FromWorker, ToWorker, WorkerOrder } from "../worker/messages.ts";

type Message<Kind extends FromWorker["kind"]> = Extract<FromWorker, { readonly kind: Kind }>;

/** A worker process as its parent sees it. */
export interface WorkerChild {
  /** Resolves when it is connected and waits to be started. */
  readonly ready: Promise<Message<"ready">>;
  /** Resolves when the sleeper is about to write. */
  readonly aboutToWrite: Promise<Message<"about-to-write">>;
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
  tell(word: ToWorker): void;
  /** Stops the process from running (SIGSTOP). */
  pause(): void;
  /** Lets it run on (SIGCONT). */
  resume(): void;
}

const startTimeoutMs = 60_000;
const program = new URL("../worker/process.ts", import.meta.url);

/** Starts a worker process, whose events go to the feed. It is killed by the cleanup if it still runs then. */
export function startWorkerChild(order: WorkerOrder, feed: Feed, cleanup: Cleanup): WorkerChild {
  const { worker } = order;
  const child = fork(program, [JSON.stringify(order)], {
    serialization: "advanced", // keeps Infinity
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  const kill = (): void => void child.kill("SIGKILL");
  process.on("exit", kill);

  let complaint = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(-2000);
  });
  let isDone = false;
  const heard = <Kind extends FromWorker["kind"]>(kind: Kind): Promise<Message<Kind>> =>
    new Promise((resolve) => {
      child.on("message", (message: FromWorker) => {
        if (message.kind === kind) resolve(message as Message<Kind>);
      });
    });
  child.on("message", (message: FromWorker) => {
    if (message.kind !== "event") return;
    if (message.event.kind === "worker-finished" || message.event.kind === "worker-failed") isDone = true;
    feed.pass(message.event);
  });

  // Messages are complete at "disconnect", what it wrote at "close".
  const ended = Promise.all([once(child, "close"), once(child, "disconnect")]).then(() => {
    process.off("exit", kill);
    const how = child.signalCode ?? `exit code ${child.exitCode}`;
    if (!isDone) feed.emit({ kind: "worker-failed", worker, message: `ended with ${how} ${complaint}`.trim() });
  });
  cleanup.defer(async () => {
    kill();
    await ended;
  });
  const endedEarly = ended.then(() => {
    throw new Error(`the process of ${worker} ended early. ${complaint}`);
  });
  const late = sleep(startTimeoutMs, undefined, { ref: false }).then(() => {
    throw new Error(`the process of ${worker} was not ready within ${startTimeoutMs} ms`);
  });
  const ready = Promise.race([heard("ready"), endedEarly, late]);
  const aboutToWrite = Promise.race([heard("about-to-write"), endedEarly]);
  for (const promise of [ready, aboutToWrite, endedEarly, late]) promise.catch(() => {});

  return {
    ready,
    aboutToWrite,
    ended,
    tell: (word) => {
      if (child.connected) child.send(word);
    },
    pause: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
  };
}
