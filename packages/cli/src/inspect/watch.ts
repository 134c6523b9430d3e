import { setTimeout as sleep } from "node:timers/promises";
import type { Inspection } from "@holdfast/core";
import { print } from "../output/print.ts";
import { essenceOf } from "./inspection-report.ts";

/** Shows a series of reports. */
export interface Display {
  /** Shows the newest report. */
  show(inspection: Inspection): void;
  /** Restores the terminal, with the cursor below the last report. */
  end(): void;
}

/** Returns a display that redraws the report in place. */
export async function redrawing(textOf: (inspection: Inspection) => string): Promise<Display> {
  // Loaded here, because it takes longer to load than the rest of this program.
  const { createLogUpdate } = await import("log-update");
  const draw = createLogUpdate(process.stdout);
  return { show: (inspection) => draw(textOf(inspection)), end: () => draw.done() };
}

/** Returns a display that prints a report whenever anything other than the remaining time has changed. */
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

/** Inspects repeatedly until the signal aborts. */
export async function watch(
  inspect: () => Promise<Inspection>,
  display: Display,
  intervalMs: number,
  signal: AbortSignal,
): Promise<void> {
  try {
    while (!signal.aborted) {
      display.show(await inspect());
      await sleep(intervalMs, undefined, { signal }).catch(() => {});
    }
  } finally {
    display.end();
  }
}
