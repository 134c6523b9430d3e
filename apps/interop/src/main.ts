/** Lets processes of Holdfast and of other lock libraries contend for the same keys, and counts. See README.md. */
import { parseArgs } from "node:util";
import { holdContest, type Result, sum } from "./contention/arena.ts";
import { libraries } from "./libraries/index.ts";
import { none } from "./libraries/none.ts";

const { values } = parseArgs({
  options: {
    servers: { type: "string", default: "1,3,5" },
    processes: { type: "string", default: "2" },
    clients: { type: "string", default: "2" },
    locks: { type: "string", default: "100" },
    unlocked: { type: "boolean", default: false },
  },
});
const contest = {
  libraries: values.unlocked ? [none] : libraries,
  processes: count(values.processes),
  clients: count(values.clients),
  locks: count(values.locks),
  limitMs: 600_000,
};

for (const servers of values.servers.split(",").map(count)) {
  const result = await holdContest({ ...contest, servers });
  print(servers, result);
  const { lostLocks, staleTokens } = sum(result.byLibrary);
  if (result.lostUpdates + lostLocks + staleTokens > 0) process.exitCode = 1;
}

function count(word: string): number {
  const number = Number(word);
  if (!Number.isInteger(number) || number < 1) throw new RangeError(`${word} is not a positive integer`);
  return number;
}

function print(servers: number, { byLibrary, lostUpdates }: Result): void {
  console.log(
    `\n${servers} server${servers === 1 ? "" : "s"}, ${contest.processes} × ${contest.clients} clients of each library`,
  );
  const columns = [...byLibrary, { library: "all", ...sum(byLibrary) }];
  console.table(Object.fromEntries(columns.map(({ library, ...counts }) => [library, counts])));
  console.log(`lost updates: ${lostUpdates}`);
}
