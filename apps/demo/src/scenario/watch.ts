import { setTimeout as sleep } from "node:timers/promises";
import type { Emit } from "../events.ts";
import type { Setup } from "../setup.ts";
import type { World } from "../world/world.ts";

const intervalMs = 100;

/** Inspects all resources repeatedly until the signal aborts. */
export async function watch(world: World, setup: Setup, emit: Emit, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await look(world, setup, emit);
    await sleep(intervalMs, undefined, { signal }).catch(() => {});
  }
}

/** Inspects all resources once: holder, remaining time, and counter. */
export async function look({ redlock, database }: World, { resources }: Setup, emit: Emit): Promise<void> {
  await Promise.all(
    resources.map(async ({ name: resource }) => {
      const [inspection, value] = await Promise.all([redlock.inspect(resource), database.look(resource)]);
      const { label: holder, remainingMs, fence } = inspection;
      emit({ kind: "sampled", resource, holder, remainingMs, fence, value });
    }),
  );
}
