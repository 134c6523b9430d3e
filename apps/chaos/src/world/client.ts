import { fork } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { reapedDirectory } from "@holdfast/testkit";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { ClientOrder, FromClient, ToClient } from "../client/messages.ts";

/** A client process as its parent sees it. */
export interface ChaosClient {
  readonly name: string;
  tell(message: ToClient): void;
  /** Stops the process from running (SIGSTOP). */
  pause(): void;
  /** Lets it run on (SIGCONT). */
  resume(): void;
  /** Rejects when the process ends, which it does not by itself. */
  readonly ended: Promise<never>;
}

const program = new URL("../client/process.ts", import.meta.url);
const execArgv = ["--conditions=@holdfast/source", "--import", "tsx"];

/** Starts a client process. The cleanup kills it. */
export async function startClient(
  order: ClientOrder,
  hear: (message: FromClient) => void,
  cleanup: Cleanup,
): Promise<ChaosClient> {
  const name = order.client;
  const child = fork(program, [JSON.stringify(order)], { execArgv, stdio: ["ignore", "ignore", "pipe", "ipc"] });
  // If this process is killed, a stopped child would stay for ever: it cannot notice.
  await writeFile(join(await reapedDirectory(), "pid"), String(child.pid));
  let complaint = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(-2000);
  });
  child.on("message", (message: FromClient) => hear(message));
  const closed = once(child, "close");
  const ended = closed.then(() => {
    throw new Error(`the process of ${name} ended: ${child.signalCode ?? `exit code ${child.exitCode}`} ${complaint}`);
  });
  ended.catch(() => {});
  cleanup.defer(async () => {
    child.kill("SIGKILL");
    await closed;
  });
  return {
    name,
    ended,
    tell: (message) => void (child.connected && child.send(message)),
    pause: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
  };
}
