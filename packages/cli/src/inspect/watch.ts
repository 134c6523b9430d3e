import { setTimeout as sleep } from "node:timers/promises";
import type { Inspection } from "@holdfast/core";
import { print } from "../output/print.ts";
import { essenceOf } from "./inspection-report.ts";

/** Shows one report after the other. */
export interface Display {
  /** Shows the newest report. */
  show(inspection: Inspection): void;
  /** Leaves the terminal as it was found, below the last report. */
  end(): void;
}

/** Draws over the last report. */
export async function redrawing(textOf: (inspection: Inspection) => string): Promise<Display> {
  // Only here, as it takes longer to load than the rest of this program.
  const { createLogUpdate } = await import("log-update");
  const draw = createLogUpdate(process.stdout);
  return { show: (inspection) => draw(textOf(inspection)), end: () => draw.done() };
}

/** Prints a report whenever something has changed, other than the time that remains. */
export function printingChanges(textOf: (inspection: Inspection) => string): Display {
  let last: string | undefined;
  return {
    show(inspection) {
      const essence = essenceOf(inspection);
      if (essence !== last) print(textOf(inspection));
      last = essence;
    },
    end() {},
  };
}

/** Looks again and again until the signal aborts. */
export async function watch(
  look: () => Promise<Inspection>,
  display: Display,
  intervalMs: number,
  signal: AbortSignal,
): Promise<void> {
  try {
    while (!signal.aborted) {
      display.show(await look());
      await sleep(intervalMs, undefined, { signal }).catch(() => {});
    }
  } finally {
    display.end();
  }
}
