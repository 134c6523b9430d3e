import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { EpochError, type LockNode } from "@holdfast/core";
import type { OpenedRival, RivalError, RivalReply, RivalRequest } from "./rival-process.ts";
import type { OpenedNode, RivalModule } from "./subject.ts";
import { within } from "./world/within.ts";

/** A node in another process. */
export interface RemoteNode extends OpenedNode {
  /** Kills the process, and resolves when it has ended. Only for a node from `openAlone`. */
  kill(): Promise<void>;
}

/** The processes in which the suite opens rivals. */
export interface RivalProcesses {
  /** Opens a node in a process that all nodes of the module share. */
  open(module: RivalModule): Promise<RemoteNode>;
  /** Opens a node in a separate process, which may be killed. */
  openAlone(module: RivalModule): Promise<RemoteNode>;
  /** Ends all processes. */
  close(): Promise<void>;
}

// Beside this module, in the sources as well as in the build.
const isSource = import.meta.url.endsWith(".ts");
const runner = fileURLToPath(new URL(isSource ? "./rival-process.ts" : "./rival-process.js", import.meta.url));

/** How long a busy machine may take to start a process that loads a TypeScript module, in milliseconds. */
const startMs = 60_000;

/** Returns the rival processes of one suite. No process starts until a node is opened. */
export function createRivalProcesses(timeoutMs: number): RivalProcesses {
  const shared = new Map<string, RivalProcess>();
  const all = new Set<RivalProcess>();
  const start = (module: RivalModule): RivalProcess => {
    const started = startProcess(module.execArgv ?? []);
    all.add(started);
    return started;
  };
  const open = (rival: RivalProcess, module: RivalModule): Promise<RemoteNode> =>
    within(Math.max(startMs, timeoutMs), "openNode() in another process", rival.open(module));
  return {
    open(module) {
      const key = JSON.stringify([String(module.url), module.execArgv]);
      const running = shared.get(key);
      const rival = running?.isRunning() ? running : start(module);
      shared.set(key, rival);
      return open(rival, module);
    },
    openAlone: (module) => open(start(module), module),
    async close() {
      await Promise.all([...all].map((rival) => rival.kill()));
    },
  };
}

/**
 * Import conditions that Node.js and bundlers set automatically. Setting them for `require` as well breaks some
 * packages.
 */
const usualConditions = ["node", "import", "require", "default", "module", "module-sync", "browser"];

/** Returns the additional import conditions of this process, such as one that makes a monorepo use its sources. */
function ownConditions(): string[] {
  const given = process.execArgv.map((argument) => argument.replace(/^(-C|--conditions)=/, "--conditions\0"));
  return given
    .flatMap((argument, index) => {
      if (argument.startsWith("--conditions\0")) return [argument.slice("--conditions\0".length)];
      return ["-C", "--conditions"].includes(argument) ? [given[index + 1] ?? ""] : [];
    })
    .filter((condition) => !usualConditions.includes(condition))
    .map((condition) => `--conditions=${condition}`);
}

interface RivalProcess {
  isRunning(): boolean;
  open(module: RivalModule): Promise<RemoteNode>;
  kill(): Promise<void>;
}

function startProcess(execArgv: readonly string[]): RivalProcess {
  const child = fork(runner, [], {
    execArgv: [...ownConditions(), ...execArgv],
    serialization: "advanced", // keeps half surrogates, NaN and undefined
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const ended = once(child, "close").catch(() => {});
  const ask = askerOf(child);
  let handles = 0;
  const rival: RivalProcess = {
    isRunning: () => child.connected,
    async open({ url, options }) {
      const handle = handles++;
      const { name, methods } = (await ask({ kind: "open", handle, url: String(url), options })) as OpenedRival;
      const calls = methods.map((method) => [
        method,
        (argument: unknown) => ask({ kind: "call", handle, method, argument }),
      ]);
      const node: LockNode = { name, ...Object.fromEntries(calls) };
      const close = async (): Promise<void> => {
        if (child.connected) await ask({ kind: "close", handle });
      };
      return { node, close, kill: () => rival.kill() };
    },
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
  return rival;
}

type Question = RivalRequest extends infer Request ? (Request extends unknown ? Omit<Request, "id"> : never) : never;

/** Sends requests, and resolves with the reply to each. All of them reject when the process ends. */
function askerOf(child: ChildProcess): (question: Question) => Promise<unknown> {
  const waiting = new Map<number, (reply: RivalReply) => void>();
  let ids = 0;
  child.on("message", (reply: RivalReply) => {
    waiting.get(reply.id)?.(reply);
    waiting.delete(reply.id);
  });
  const fail = (message: string): void => {
    for (const [id, settle] of waiting) settle({ id, error: { message, stack: undefined } });
    waiting.clear();
  };
  child.on("error", (error) => fail(`the rival's process failed: ${error.message}`));
  child.on("close", () => fail("the rival's process has ended"));
  return (question) =>
    new Promise((resolve, reject) => {
      const id = ids++;
      waiting.set(id, ({ error, ...reply }) => {
        if (error) reject(revived(error));
        else resolve((reply as { readonly value: unknown }).value);
      });
      child.send({ id, ...question } as RivalRequest, (problem) => {
        if (problem) fail(`the rival's process cannot be reached: ${problem.message}`);
      });
    });
}

/** Returns an error of another process, as an instance of the class that the suite looks for. */
function revived({ message, stack, code }: RivalError): Error {
  const error = code === EpochError.code ? new EpochError(0, 0) : new Error();
  return Object.assign(error, { message }, stack && { stack });
}
