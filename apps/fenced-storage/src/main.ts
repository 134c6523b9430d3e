/** `pnpm start [storage …]`: plays late writes to each storage, with and without a check of the token. See README.md. */
import { readCommand, runProgram } from "@holdfast/app-kit/program";
import { startRedisServer } from "@holdfast/testkit";
import { playLateWrites } from "./play/late-writes.ts";
import { playTransactions } from "./play/transactions.ts";
import { areTransactionsAsExpected, introduction, isAsExpected, linesOf, linesOfTransactions } from "./report.ts";
import { startStorage } from "./start-storage.ts";
import { storages, storagesNamed } from "./storages.ts";

await runProgram("start", readCommand(process.argv.slice(2), storagesNamed), async (named, cleanup, signal) => {
  const lockServers = await Promise.all([1, 2, 3].map(() => startRedisServer()));
  for (const server of lockServers) cleanup.defer(server.stop);
  const urls = lockServers.map(({ url }) => url);
  console.log(introduction.join("\n"));
  let isRight = true;
  for (const storage of named) {
    const address = await startStorage(storage, cleanup);
    const outcomes = await playLateWrites(storage, address, urls, cleanup, signal);
    console.log(["", ...linesOf(storages[storage], outcomes)].join("\n"));
    isRight &&= isAsExpected(outcomes);
    if (storage !== "postgres") continue;
    const transactions = await playTransactions(address, cleanup);
    console.log(["", ...linesOfTransactions(transactions)].join("\n"));
    isRight &&= areTransactionsAsExpected(transactions);
  }
  return isRight;
});
