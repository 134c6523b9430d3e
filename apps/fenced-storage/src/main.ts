/** `pnpm start`: what becomes of a late write in each storage, or in those that are named, with and without a check. */
import { startRedisServer } from "@holdfast/testkit";
import { createCleanup } from "@holdfast/testkit/cleanup";
import { runInterruptible } from "@holdfast/testkit/interruptible";
import { playLateWrites } from "./play/late-writes.ts";
import { introduction, isAsExpected, linesOf } from "./report.ts";
import { startStorage } from "./start-storage.ts";
import { storages, storagesNamed } from "./storages.ts";

await runInterruptible(async (interrupt) => {
  const cleanup = createCleanup();
  interrupt.signal.addEventListener("abort", () => void cleanup.run());
  try {
    const named = storagesNamed(process.argv.slice(2));
    const lockServers = await Promise.all([1, 2, 3].map(() => startRedisServer()));
    for (const server of lockServers) cleanup.defer(server.stop);
    const urls = lockServers.map(({ url }) => url);
    console.log(introduction.join("\n"));
    let isRight = true;
    for (const storage of named) {
      const address = await startStorage(storage, cleanup);
      const outcomes = await playLateWrites(storage, address, urls, cleanup, interrupt.signal);
      console.log(["", ...linesOf(storages[storage], outcomes)].join("\n"));
      isRight &&= isAsExpected(outcomes);
    }
    return isRight ? interrupt.exitCode : 1;
  } catch (error) {
    if (interrupt.signal.aborted) return interrupt.exitCode;
    console.error(error instanceof RangeError ? error.message : error);
    return 1;
  } finally {
    await cleanup.run();
  }
});
