import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { imported as contenders } from "../contenders/index.ts";
import type { Figures } from "../measure/measures.ts";
import { quartilesOf } from "../measure/statistics.ts";
import type { Stage, Workload } from "./workload.ts";

export const importing: Workload = {
  name: "import",
  title: "Time to import",
  description: "How long a fresh process takes to import a library as it is installed, the Redis client left aside.",
  contenders,
  quickContenders: contenders.map(({ name }) => name),
  cases: [{ name: "a fresh process", nodes: 0, processes: 1, isQuick: true, run: runImport }],
  columns: ["importMs"],
  roundsMax: 3,
  layout: "tables",
};

const run = promisify(execFile);
const app = fileURLToPath(new URL("../..", import.meta.url));
const root = fileURLToPath(new URL("../../../..", import.meta.url));
const times = 5;
const timeout = 30_000;

let built: Promise<unknown> | undefined;

async function runImport({ contender }: Stage): Promise<Figures> {
  // Ours as it is published, like the others.
  built ??= run("node_modules/.bin/turbo", ["run", "build", "--filter=@holdfast/core"], { cwd: root });
  await built;
  const tookMs: number[] = [];
  while (tookMs.length < times) tookMs.push(await importTimeOf(contender.package as string));
  return { importMs: quartilesOf(tookMs).median };
}

async function importTimeOf(name: string): Promise<number> {
  const program = `const startMs = performance.now(); await import("${name}"); console.log(performance.now() - startMs)`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", program], { cwd: app, timeout });
  return Number(stdout);
}
