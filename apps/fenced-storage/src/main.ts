/** `pnpm start [storage …]`: plays late writes to each storage, with and without a check of the token. See README.md. */
import { readCommand, runProgram } from "@holdfast/app-kit/program";
import { playLateWrites } from "./play/late-writes.ts";
import { introduction, isAsExpected, linesOf } from "./report.ts";
import { startLockServers, startStorage } from "./start-storage.ts";
import { storages, storagesNamed } from "./storages.ts";

await runProgram("start", readCommand(process.argv.slice(2), storagesNamed), async (named, cleanup, signal) => {
  const urls = await startLockServers(cleanup);
  console.log(introduction.join("\n"));
  let isRight = true;
  for (const storage of named) {
    const outcomes = await playLateWrites(storage, await startStorage(storage, cleanup), urls, cleanup, signal);
    console.log(["", ...linesOf(storages[storage], outcomes)].join("\n"));
    isRight &&= isAsExpected(outcomes);
  }
  return isRight;
});
