/** `pnpm start`: what becomes of a late write in each storage, with and without a check of its token. */
import { startRedisServer } from "@holdfast/testkit";
import { createCleanup } from "@holdfast/testkit/cleanup";
import { runInterruptible } from "@holdfast/testkit/interruptible";
import { playLateWrites } from "./play/late-writes.ts";
import { introduction, isAsExpected, linesOf } from "./report.ts";
import { startStorage } from "./start-storage.ts";
import { type StorageName, storages } from "./storages.ts";

await runInterruptible(async (interrupt) => {
  const cleanup = createCleanup();
  interrupt.signal.addEventListener("abort", () => void cleanup.run());
  try {
    const servers = await Promise.all([1, 2, 3].map(() => startRedisServer()));
    for (const server of servers) cleanup.defer(server.stop);
    console.log(introduction.join("\n"));
    let failures = 0;
    for (const [storage, title] of Object.entries(storages) as [StorageName, string][]) {
      const address = await startStorage(storage, cleanup);
      const outcomes = await playLateWrites(
        storage,
        address,
        servers.map(({ url }) => url),
        cleanup,
      );
      console.log(["", ...linesOf(title, outcomes)].join("\n"));
      if (!isAsExpected(outcomes)) failures += 1;
    }
    return failures === 0 ? interrupt.exitCode : 1;
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    return interrupt.exitCode;
  } finally {
    await cleanup.run();
  }
});
