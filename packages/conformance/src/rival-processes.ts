import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { LockNode } from "@holdfast/core";
import type { Contest, Winnings } from "./contend.ts";
import type { OpenedRival, RivalMethod, RivalReply, RivalRequest } from "./rival-process.ts";
import type { OpenedNode, RivalModule } from "./subject.ts";
import { within } from "./world/within.ts";

/** A node in another process. */
export interface RemoteNode extends OpenedNode {
  /** Contends in that process. */
  contend(contest: Contest): Promise<Winnings>;
  /** Kills the process, and resolves when it is gone. Only for a node that has a process of its own. */
  kill(): Promise<void>;
}

/** Processes that make nodes for the suite. */
export interface RivalProcesses {
  /** Opens a node in a process that all nodes of the module share. */
  open(module: RivalModule): Promise<RemoteNode>;
  /** Opens a node in a process of its own, which may be killed. */
  openAlone(module: RivalModule): Promise<RemoteNode>;
  /** Ends all processes. */
  close(): Promise<void>;
}

// Beside this module, whether that is the source or what is built from it.
const isSource = import.meta.url.endsWith(".ts");
const runner = fileURLToPath(new URL(isSource ? "./rival-process.ts" : "./rival-process.js", import.meta.url));

/** How long a busy machine may take to start a process that loads a module in TypeScript, in milliseconds. */
const startMs = 60_000;

/** Starts no process until a node is opened. */
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

/** Conditions of imports that Node.js and bundlers set by themselves. Set for `require`, too, they break some packages. */
const usualConditions = ["node", "import", "require", "default", "module", "module-sync", "browser"];

/** The conditions under which this process imports packages, such as those by which a monorepo finds its sources. */
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
      const { name, inspect } = (await ask({ kind: "open", handle, url: String(url), options })) as OpenedRival;
      const call = (method: RivalMethod, argument: unknown): Promise<never> =>
        ask({ kind: "call", handle, method, argument }) as Promise<never>;
      const node: LockNode = {
        name,
        acquire: (request) => call("acquire", request),
        extend: (request) => call("extend", request),
        release: (request) => call("release", request),
        ...(inspect && { inspect: (resource: string) => call("inspect", resource) }),
      };
      const close = async (): Promise<void> => {
        if (child.connected) await ask({ kind: "close", handle });
      };
      const contend = (contest: Contest) => ask({ kind: "contend", handle, contest }) as Promise<Winnings>;
      return { node, close, contend, kill: () => rival.kill() };
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
  child.on("error", (error) => fail(`the process of the rival failed: ${error.message}`));
  child.on("close", () => fail("the process of the rival has ended"));
  return (question) =>
    new Promise((resolve, reject) => {
      const id = ids++;
      waiting.set(id, ({ error, ...reply }) => {
        if (error) reject(Object.assign(new Error(error.message), error.stack && { stack: error.stack }));
        else resolve((reply as { readonly value: unknown }).value);
      });
      child.send({ id, ...question } as RivalRequest, (problem) => {
        if (problem) fail(`the process of the rival cannot be reached: ${problem.message}`);
      });
    });
}
