/** Lets processes of Holdfast and of other lock libraries contend for the same keys, and counts. See README.md. */
import { parseArgs } from "node:util";
import { integer } from "@holdfast/app-kit/program";
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
  processes: integer("--processes", values.processes, 1),
  clients: integer("--clients", values.clients, 1),
  locks: integer("--locks", values.locks, 1),
  limitMs: 600_000,
};

for (const word of values.servers.split(",")) {
  const servers = integer("--servers", word, 1);
  const result = await holdContest({ ...contest, servers });
  print(servers, result);
  const { lostLocks, staleTokens } = sum(result.byLibrary);
  if (result.lostUpdates + lostLocks + staleTokens > 0) process.exitCode = 1;
}

function print(servers: number, { byLibrary, lostUpdates }: Result): void {
  console.log(
    `\n${servers} server${servers === 1 ? "" : "s"}, ${contest.processes} × ${contest.clients} clients of each library`,
  );
  const columns = [...byLibrary, { library: "all", ...sum(byLibrary) }];
  console.table(Object.fromEntries(columns.map(({ library, ...counts }) => [library, counts])));
  console.log(`lost updates: ${lostUpdates}`);
}
