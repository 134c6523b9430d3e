import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { FromWorker, Report, ToWorker, WorkerOrder } from "./messages.ts";

const program = fileURLToPath(new URL("./worker.ts", import.meta.url));

/** What an answer to an order looks like. */
type Answer<Kind extends FromWorker["kind"]> = Extract<FromWorker, { kind: Kind }>;

/** What the parent does with what a worker says of its programs. */
export interface Listener {
  onReport(report: Report): void;
  onFailed(program: string, message: string): void;
}

/** A worker process. */
export interface Worker {
  readonly name: string;
  /** Gives an order. */
  tell(message: ToWorker): void;
  /** Resolves with the next message of this kind; rejects when the process ends, or none comes in time. */
  hear<Kind extends FromWorker["kind"]>(kind: Kind, limitMs: number): Promise<Answer<Kind>>;
  /** Whether it exits with 0 by itself in that time. */
  exits(limitMs: number): Promise<boolean>;
  /** Ends the process at once. */
  kill(): void;
}

/** Starts a worker process, and resolves when it is connected to all servers. */
export async function startWorker(order: WorkerOrder, { onReport, onFailed }: Listener): Promise<Worker> {
  const child = fork(program, [JSON.stringify(order)], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const exit = once(child, "exit");
  child.on("message", (message: FromWorker) => {
    if (message.kind === "failed") onFailed(message.program, message.message);
    if (message.kind !== "report") return;
    onReport(message.report);
    child.send({ kind: "noted", id: message.id } satisfies ToWorker);
  });
  const worker: Worker = {
    name: order.name,
    tell: (message) => void (child.connected && child.send(message)),
    hear: (kind, limitMs) => nextMessage(child, order.name, kind, limitMs),
    async exits(limitMs) {
      const timer = setTimeout(() => child.kill("SIGKILL"), limitMs);
      const [code] = await exit;
      clearTimeout(timer);
      return code === 0;
    },
    kill: () => void child.kill("SIGKILL"),
  };
  await worker.hear("ready", 60_000);
  return worker;
}

function nextMessage<Kind extends FromWorker["kind"]>(
  child: ChildProcess,
  name: string,
  kind: Kind,
  limitMs: number,
): Promise<Answer<Kind>> {
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void): void => {
      clearTimeout(timer);
      child.off("message", onMessage);
      child.off("exit", onExit);
      finish();
    };
    const onMessage = (message: FromWorker): void => {
      if (message.kind === kind) settle(() => resolve(message as Answer<Kind>));
    };
    const onExit = (): void => settle(() => reject(new Error(`${name} ended before it was ${kind}`)));
    const onLate = (): void => settle(() => reject(new Error(`${name} was not ${kind} within ${limitMs / 1_000} s`)));
    const timer = setTimeout(onLate, limitMs);
    child.on("message", onMessage);
    child.once("exit", onExit);
  });
}
