import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { reapedDirectory } from "@holdfast/testkit";
import type { Message } from "./messages.ts";

/** A, in a process of its own. */
export interface Holder {
  /** Resolves with what it tells about something. Rejects if it ends before. */
  hear(about: string): Promise<Message>;
  /** Lets it run on, and resolves when it has ended well. */
  resume(): Promise<void>;
  /** Ends it, wherever it is. */
  kill(): void;
}

const program = fileURLToPath(new URL("./holder.ts", import.meta.url));
const nudgeMs = 20;

/** Starts the process. What it complains of is shown. It does not outlive this process, stopped as it may be. */
export async function startHolder(...args: readonly string[]): Promise<Holder> {
  const directory = await reapedDirectory();
  const options = ["--conditions=@holdfast/source", "--import", "tsx", program, ...args];
  const child = spawn(process.execPath, options, { stdio: ["ignore", "pipe", "inherit"] });
  const told = new Map<string, Message>();
  const news = new EventEmitter().setMaxListeners(0);
  createInterface(child.stdout).on("line", (line) => {
    const message = JSON.parse(line) as Message;
    told.set(message.about, message);
    news.emit("told");
  });
  let hasEnded = false;
  child.on("close", () => {
    hasEnded = true;
    void rm(directory, { recursive: true, force: true });
    news.emit("told");
  });
  await writeFile(join(directory, "pid"), String(child.pid));
  return {
    async hear(about) {
      for (;;) {
        const message = told.get(about);
        if (message) return message;
        if (hasEnded) throw new Error(`the holder has ended, and told nothing about ${about}`);
        await once(news, "told");
      }
    },
    async resume() {
      // It says that it is about to stop just before it does: what comes too early is said again.
      const nudge = setInterval(() => child.kill("SIGCONT"), nudgeMs);
      if (!hasEnded) await once(child, "close");
      clearInterval(nudge);
      if (child.exitCode !== 0) throw new Error(`the holder ended with ${child.exitCode ?? child.signalCode}`);
    },
    kill: () => void child.kill("SIGKILL"),
  };
}
