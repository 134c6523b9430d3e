import { fork } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { reapedDirectory } from "@holdfast/testkit";
import { createBirpc } from "birpc";

/** The functions that a worker serves, by name. */
type Functions<Served> = { [Name in keyof Served]: (...args: never[]) => unknown };

/** How to start a worker. */
export interface WorkerOptions {
  /** Names the worker in errors. */
  readonly name: string;
  /** The functions that the worker may call here. */
  readonly events?: object;
}

const errorOutputMax = 2_000;

/** A worker process, as its parent sees it. */
export type WorkerProcess<Served extends Functions<Served>> = ReturnType<typeof startWorkerProcess<Served>>;

/**
 * Starts a program that calls `serveParent()`. The worker ends with this process, even if this process is killed and the
 * worker is stopped.
 *
 * @param program the path of its bundle
 */
export function startWorkerProcess<Served extends Functions<Served>>(
  program: string,
  { name, events = {} }: WorkerOptions,
) {
  const child = fork(program, {
    execArgv: [],
    serialization: "advanced", // keeps Infinity, NaN and undefined
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  const pid = child.pid as number;
  const reaped = reap(pid);
  let errorOutput = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    errorOutput = (errorOutput + text).slice(-errorOutputMax);
  });
  child.on("error", () => {}); // a message that could not be sent: its call rejects when the process ends
  const rpc = createBirpc<Record<string, (...args: unknown[]) => unknown>, object, false>(events, {
    proxify: false,
    timeout: -1,
    post: (message) => void child.send(message, () => {}),
    on: (listener) => void child.on("message", listener),
  });
  let isKilled = false;
  let endError: Error | undefined;

  // All messages have arrived at "disconnect", and all output at "close".
  const ended = Promise.all([once(child, "close"), once(child, "disconnect")]).then(async () => {
    const how = child.signalCode ?? `exit code ${child.exitCode}`;
    const complaint = /^\w*Error.*$/m.exec(errorOutput)?.[0] ?? errorOutput.trim();
    endError = new Error(`the process of ${name} ended with ${how}${complaint && `: ${complaint}`}`);
    rpc.$close(endError);
    await rm(await reaped, { recursive: true, force: true }); // another process may soon have the same id
    return child.exitCode;
  });
  const isAlive = (): boolean => child.connected && !isKilled;
  const kill = (): void => {
    isKilled = true;
    child.kill("SIGKILL");
  };
  return {
    name,
    pid,
    /** Whether the process runs and can be called. */
    get isAlive() {
      return isAlive();
    },
    /**
     * Calls a function of the worker. Rejects with the error that the function throws, or when the process ends. After
     * `limitMs` it rejects and kills the process.
     */
    async call<Name extends keyof Served & string>(
      method: Name,
      limitMs: number,
      ...args: Parameters<Served[Name]>
    ): Promise<Awaited<ReturnType<Served[Name]>>> {
      if (!isAlive()) throw endError ?? new Error(`the process of ${name} has ended`);
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          reject(new Error(`${name} hung: ${method}() did not end within ${limitMs / 1_000} s`));
          kill();
        }, limitMs);
      });
      try {
        return (await Promise.race([rpc.$call(method, ...args), late])) as never;
      } finally {
        clearTimeout(timer);
      }
    },
    /** Stops the process from running (SIGSTOP). */
    pause: () => void child.kill("SIGSTOP"),
    /** Lets it run on (SIGCONT). */
    resume: () => void child.kill("SIGCONT"),
    /** Kills the process (SIGKILL). */
    kill,
    /** Kills the process, and resolves when it has ended. */
    async stop(): Promise<void> {
      kill();
      await ended;
    },
    /** Resolves when the process has ended: with the exit code, or null after a signal. */
    ended,
    /** Why the process ended: the worker's name, the exit code or signal, and what it wrote to stderr. */
    get endError() {
      return endError;
    },
  };
}

/** Has the process killed when this one ends. Resolves with the folder that says so. */
async function reap(pid: number): Promise<string> {
  const folder = await reapedDirectory();
  await writeFile(join(folder, "pid"), String(pid));
  return folder;
}
