/** Runs simulations in a worker, so that the page answers meanwhile. */
import type { Address } from "./address.ts";
import type { PlayedRun, PlayReply, PlayRequest } from "./worker.ts";

/**
 * Starts the worker.
 *
 * @param onBroken called when the worker could not be loaded: it never answers again
 */
export function startSimulator(onBroken: () => void) {
  const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  const waiting = new Map<number, { resolve(run: PlayedRun): void; reject(error: Error): void }>();
  let ids = 0;
  worker.addEventListener("message", ({ data }: MessageEvent<PlayReply>) => {
    const call = waiting.get(data.id);
    waiting.delete(data.id);
    if ("run" in data) call?.resolve(data.run);
    else call?.reject(new Error(data.error));
  });
  worker.addEventListener("error", ({ message }) => {
    worker.terminate();
    onBroken();
    for (const { reject } of waiting.values()) reject(new Error(message || "the simulation could not be loaded"));
    waiting.clear();
  });
  return {
    /** Simulates the scenario of an address. Rejects if the scenario is impossible. */
    simulate: ({ subject, faults }: Address) =>
      new Promise<PlayedRun>((resolve, reject) => {
        const id = ids++;
        waiting.set(id, { resolve, reject });
        const request: PlayRequest = { id, subject, faults };
        worker.postMessage(request);
      }),
    /** Ends the worker. */
    close: () => worker.terminate(),
  };
}
