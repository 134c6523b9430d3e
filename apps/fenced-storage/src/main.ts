/** `pnpm start`: what becomes of a late write in each storage, or in those that are named, with and without a check. */
import { startRedisServer } from "@holdfast/testkit";
import { createCleanup } from "@holdfast/testkit/cleanup";
import { runInterruptible } from "@holdfast/testkit/interruptible";
import { playLateWrites } from "./play/late-writes.ts";
import { introduction, isAsExpected, linesOf } from "./report.ts";
import { startStorage } from "./start-storage.ts";
import { type StorageName, storages } from "./storages.ts";

const all = Object.keys(storages) as StorageName[];
const named = process.argv.slice(2) as StorageName[];
const unknown = named.filter((name) => !all.includes(name));

await runInterruptible(async (interrupt) => {
  if (unknown.length > 0) {
    console.error(`no such storage: ${unknown.join(", ")}; there are ${all.join(", ")}`);
    return 2;
  }
  const cleanup = createCleanup();
  interrupt.signal.addEventListener("abort", () => void cleanup.run());
  try {
    const lockServers = await Promise.all([1, 2, 3].map(() => startRedisServer()));
    for (const server of lockServers) cleanup.defer(server.stop);
    const urls = lockServers.map(({ url }) => url);
    console.log(introduction.join("\n"));
    let isRight = true;
    for (const storage of named.length > 0 ? named : all) {
      const outcomes = await playLateWrites(storage, await startStorage(storage, cleanup), urls, cleanup);
      console.log(["", ...linesOf(storages[storage], outcomes)].join("\n"));
      isRight &&= isAsExpected(outcomes);
    }
    return isRight ? interrupt.exitCode : 1;
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    return interrupt.exitCode;
  } finally {
    await cleanup.run();
  }
});
