/** Lets clients of Holdfast and of other lock libraries contend for the same keys, and counts. See README.md. */
import { readCommand, runProgram } from "@holdfast/app-kit/program";
import { type Contest, holdContest, type Result, sum } from "./contest.ts";
import { holdfastOverIoredis, holdfastOverNodeRedis } from "./libraries/holdfast.ts";
import { none } from "./libraries/library.ts";
import { theirs } from "./libraries/others.ts";

const help = `Lets clients of Holdfast and of other lock libraries contend for the same keys, and counts.

Usage: pnpm contend [options]

  --servers N    how many servers hold the locks (default: 1, then 3, then 5)
  --clients N    how many clients each library has (default 4)
  --locks N      how many locks each client holds, one after another (default 100)
  --unlocked     without locks, to show that losses are noticed
  --help         prints this

Exit code: 0 when nothing was lost, and tokens were in order; 1 otherwise.
`;

const command = readCommand(help, process.argv.slice(2), ({ flag, integer }): { contests: Contest[] } => {
  const servers = integer("servers", undefined, 1);
  const contest = {
    libraries: flag("unlocked") ? [none] : [holdfastOverIoredis, holdfastOverNodeRedis, ...theirs],
    clients: integer("clients", 4, 1),
    locks: integer("locks", 100, 1),
    limitMs: 600_000,
  };
  return { contests: (servers === undefined ? [1, 3, 5] : [servers]).map((count) => ({ ...contest, servers: count })) };
});

await runProgram("contend", command, async ({ contests }) => {
  let isClean = true;
  for (const contest of contests) {
    const result = await holdContest(contest);
    print(contest, result);
    const { lostLocks, staleTokens } = sum(result.byLibrary);
    isClean &&= result.lostUpdates + lostLocks + staleTokens === 0;
  }
  return isClean;
});

function print({ servers, clients }: Contest, { byLibrary, lostUpdates }: Result): void {
  console.log(`\n${servers} server${servers === 1 ? "" : "s"}, ${clients} clients of each library`);
  const columns = [...byLibrary, { library: "all", ...sum(byLibrary) }];
  console.table(Object.fromEntries(columns.map(({ library, ...counts }) => [library, counts])));
  console.log(`lost updates: ${lostUpdates}`);
}
