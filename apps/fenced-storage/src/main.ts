/** `pnpm start [storage …]`: plays late writes to each storage, with and without a check of the token. See README.md. */
import { runProgram } from "@holdfast/app-kit/program";
import { playLateWrites } from "./play/late-writes.ts";
import { startLockServers } from "./play/locks.ts";
import { introduction, isAsExpected, linesOf } from "./report.ts";
import { load, parseCommand, storages } from "./storages.ts";

await runProgram("start", parseCommand(process.argv.slice(2)), async (named, cleanup, signal) => {
  const urls = await startLockServers(cleanup);
  console.log(introduction.join("\n"));
  let isRight = true;
  for (const storage of named) {
    const { start } = await load[storage]();
    const outcomes = await playLateWrites(storage, await start(cleanup), urls, cleanup, signal);
    console.log(["", ...linesOf(storages[storage], outcomes)].join("\n"));
    isRight &&= isAsExpected(outcomes);
  }
  return isRight;
});
