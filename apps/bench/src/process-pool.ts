import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Contender } from "./contenders/contender.ts";
import type { Calls, Reply } from "./process/calls.ts";

/** A process that is measured. */
export interface MeasuredProcess {
  readonly pid: number;
  readonly isAlive: boolean;
  /** The names of the work that it is warmed up for. */
  readonly warmedUp: Set<string>;
  /**
   * Calls a function there. Rejects with its error, when the process ends, and after the time limit; then the process is
   * killed, too.
   */
  call<Name extends keyof Calls>(name: Name, request: Parameters<Calls[Name]>[0], limitMs: number): Result<Name>;
  /** Ends the process at once. */
  kill(): void;
}

type Result<Name extends keyof Calls> = ReturnType<Calls[Name]>;

/** The processes that are measured. Each belongs to one contender, so that no two share what V8 has optimised. */
export interface ProcessPool {
  /** The contender's process of this number, started if there is none. */
  process(contender: Contender, number: number): MeasuredProcess;
  /** Kills all processes, and resolves when they are gone. */
  close(): Promise<void>;
}

/**
 * Makes an empty pool.
 *
 * @param program what its processes run
 * @param sizeMax how many there may be; the least recently used are killed to make room
 */
export function createProcessPool(program: string, sizeMax: number): ProcessPool {
  const processes = new Map<string, ForkedProcess>();
  const exits: Promise<unknown>[] = [];
  const start = (): ForkedProcess => {
    for (const [key, process] of processes) if (!process.isAlive) processes.delete(key);
    for (const [oldest, process] of processes) {
      if (processes.size < sizeMax) break;
      process.kill();
      processes.delete(oldest);
    }
    const process = new ForkedProcess(program);
    exits.push(process.exited);
    return process;
  };
  return {
    process({ name }, number) {
      const key = `${name} ${number}`;
      const known = processes.get(key);
      processes.delete(key); // the order of the map is that of the last use
      const process = known?.isAlive ? known : start();
      processes.set(key, process);
      return process;
    },
    async close() {
      for (const process of processes.values()) process.kill();
      await Promise.all(exits);
    },
  };
}

class ForkedProcess implements MeasuredProcess {
  readonly exited: Promise<unknown>;
  readonly warmedUp = new Set<string>();
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  #calls = 0;
  #errorOutput = "";

  constructor(program: string) {
    this.#child = fork(program, { execArgv: [], stdio: ["ignore", "ignore", "pipe", "ipc"] });
    this.exited = once(this.#child, "exit");
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#errorOutput = `${this.#errorOutput}${text}`.slice(-2_000);
    });
    this.#child.on("error", () => {});
    this.#child.on("exit", (code, signal) => this.#rejectAll(new Error(this.#exitMessage(code, signal))));
    this.#child.on("message", (reply: Reply) => {
      const caller = this.#pending.get(reply.id);
      this.#pending.delete(reply.id);
      if ("error" in reply) caller?.reject(new Error(reply.error));
      else caller?.resolve(reply.result);
    });
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  get isAlive(): boolean {
    return this.#child.connected;
  }

  call<Name extends keyof Calls>(name: Name, request: Parameters<Calls[Name]>[0], limitMs: number): Result<Name> {
    const id = this.#calls++;
    const outcome = new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      if (this.isAlive) this.#child.send({ id, name, request });
      else this.#rejectAll(new Error("the process has ended"));
    });
    const timer = setTimeout(() => {
      this.#rejectAll(new Error(`hung: "${name}" did not end within ${limitMs / 1_000} s`));
      this.kill();
    }, limitMs);
    return outcome.finally(() => clearTimeout(timer)) as Result<Name>;
  }

  kill(): void {
    this.#child.kill("SIGKILL");
    if (this.#child.connected) this.#child.disconnect();
  }

  #rejectAll(error: Error): void {
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }

  #exitMessage(code: number | null, signal: string | null): string {
    const message = /^\w*Error.*$/m.exec(this.#errorOutput)?.[0] ?? `exit code ${code ?? signal}`;
    return `the process ended: ${message}`;
  }
}
