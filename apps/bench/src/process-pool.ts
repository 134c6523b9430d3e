import { startWorkerProcess, type WorkerProcess } from "@holdfast/app-kit/worker-process";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import type { Contender } from "./contenders/contender.ts";
import type { Calls } from "./process/main.ts";

/** A measured process. */
export interface MeasuredProcess extends WorkerProcess<Calls> {
  /** Whether it is connected, and has worked enough to be fast. */
  isWarm: boolean;
}

/** The processes of a cell. Each belongs to one contender, so that no two share the code that V8 has optimised. */
export type ProcessPool = Awaited<ReturnType<typeof createProcessPool>>;

/**
 * Makes an empty pool.
 *
 * @param sizeMax how many processes there may be; the least recently used are killed to make room
 * @param program the program of its processes. It is bundled, because a TypeScript loader would add code to every measured
 *   function
 */
export async function createProcessPool(sizeMax: number, program = new URL("process/main.ts", import.meta.url)) {
  const bundle = await bundleProgram(program);
  const processes = new Map<string, MeasuredProcess>();
  const ends: Promise<unknown>[] = [];
  const start = (name: string): MeasuredProcess => {
    for (const [key, process] of processes) if (!process.isAlive) processes.delete(key);
    for (const [oldest, process] of processes) {
      if (processes.size < sizeMax) break;
      process.kill();
      processes.delete(oldest);
    }
    const process = Object.assign(startWorkerProcess<Calls>(bundle, { name }), { isWarm: false });
    ends.push(process.ended);
    return process;
  };
  return {
    /** Returns the contender's process of this number, started if there is none. */
    process({ name }: Contender, number: number): MeasuredProcess {
      const key = `${name} ${number}`;
      const known = processes.get(key);
      processes.delete(key); // the order of the map is that of the last use
      const process = known?.isAlive ? known : start(name);
      processes.set(key, process);
      return process;
    },
    /** Kills all processes, and resolves when they have ended. */
    async clear(): Promise<void> {
      for (const process of processes.values()) process.kill();
      await Promise.all(ends.splice(0));
    },
  };
}
