import type { PlayedRun, PlayReply, PlayRequest } from "./play.ts";

/** A simulation that a worker does, so that the page answers meanwhile. */
export interface Simulation {
  /** Rejects if the scenario is impossible, or if the worker cannot be loaded. */
  readonly run: Promise<PlayedRun>;
  /** Ends the worker. If there is no run yet, there will be none: `run` never settles. */
  end(): void;
}

/** Starts to simulate the scenario of an address. */
export function startSimulation({ story, deeds }: PlayRequest): Simulation {
  const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  const end = (): void => worker.terminate();
  const run = new Promise<PlayedRun>((resolve, reject) => {
    worker.addEventListener("message", ({ data }: MessageEvent<PlayReply>) => {
      end();
      if ("run" in data) resolve(data.run);
      else reject(new Error(data.error));
    });
    worker.addEventListener("error", ({ message }) => {
      end();
      reject(new Error(message || "the simulation could not be loaded"));
    });
  });
  worker.postMessage({ story, deeds } satisfies PlayRequest);
  return { run, end };
}
