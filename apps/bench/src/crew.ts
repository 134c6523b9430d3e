import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Contender } from "./contenders/contender.ts";
import type { Answer, Calls } from "./process/calls.ts";

const execArgv = ["--expose-gc"];

/** A process that is measured. */
export interface Worker {
  /**
   * Has something done there. Rejects with what went wrong there, when the process ends, and when it takes too long: then
   * the process is ended.
   *
   * @param limitMs how long it may take, in milliseconds
   */
  call<Name extends keyof Calls>(name: Name, request: Parameters<Calls[Name]>[0], limitMs: number): Result<Name>;
  /** Ends the process at once. */
  kill(): void;
  readonly isAlive: boolean;
  /** What it has done until it was fast, by names. */
  readonly skills: Set<string>;
}

type Result<Name extends keyof Calls> = ReturnType<Calls[Name]>;

/** The processes that are measured: each belongs to one contender, so that no two share what V8 has learnt. */
export interface Crew {
  /** The contender's process of this number, started when there is none. */
  worker(contender: Contender, number: number): Worker;
  /** Ends everything, and resolves when all processes are gone. */
  close(): Promise<void>;
}

/**
 * Makes a crew without anybody in it.
 *
 * @param program what its processes run
 * @param sizeMax how many processes there may be; those that were not needed for longest are ended to make room
 */
export function createCrew(program: string, sizeMax: number): Crew {
  const workers = new Map<string, ForkedWorker>();
  const endings: Promise<unknown>[] = [];
  const start = (): ForkedWorker => {
    for (const [key, worker] of workers) if (!worker.isAlive) workers.delete(key);
    for (const [oldest, worker] of workers) {
      if (workers.size < sizeMax) break;
      worker.kill();
      workers.delete(oldest);
    }
    const worker = new ForkedWorker(program);
    endings.push(worker.ended);
    return worker;
  };
  return {
    worker({ name }, number) {
      const key = `${name} ${number}`;
      const known = workers.get(key);
      workers.delete(key); // the order of the map is that of the last use
      const worker = known?.isAlive ? known : start();
      workers.set(key, worker);
      return worker;
    },
    async close() {
      for (const worker of workers.values()) worker.kill();
      await Promise.all(endings);
    },
  };
}

class ForkedWorker implements Worker {
  readonly ended: Promise<unknown>;
  readonly skills = new Set<string>();
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  #calls = 0;
  #complaint = "";

  constructor(program: string) {
    this.#child = fork(program, { execArgv, stdio: ["ignore", "ignore", "pipe", "ipc"] });
    this.ended = once(this.#child, "exit");
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#complaint = `${this.#complaint}${text}`.slice(-2_000);
    });
    this.#child.on("error", () => {});
    this.#child.on("exit", (code, signal) => this.#fail(new Error(this.#epitaph(code, signal))));
    this.#child.on("message", (answer: Answer) => {
      const caller = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if ("error" in answer) caller?.reject(new Error(answer.error));
      else caller?.resolve(answer.result);
    });
  }

  get isAlive(): boolean {
    return this.#child.connected;
  }

  call<Name extends keyof Calls>(name: Name, request: Parameters<Calls[Name]>[0], limitMs: number): Result<Name> {
    const id = this.#calls++;
    const outcome = new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      if (this.isAlive) this.#child.send({ id, name, request });
      else this.#fail(new Error("the process has ended"));
    });
    const timer = setTimeout(() => {
      this.#fail(new Error(`hung: no end of "${name}" within ${limitMs / 1_000} s`));
      this.kill();
    }, limitMs);
    return outcome.finally(() => clearTimeout(timer)) as Result<Name>;
  }

  kill(): void {
    this.#child.kill("SIGKILL");
    if (this.#child.connected) this.#child.disconnect();
  }

  #fail(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  #epitaph(code: number | null, signal: string | null): string {
    const message = /^\w*Error.*$/m.exec(this.#complaint)?.[0] ?? `exit code ${code ?? signal}`;
    return `the process ended: ${message}`;
  }
}
