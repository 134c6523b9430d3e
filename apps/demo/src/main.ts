/** `pnpm demo`: see README.md. */
import { readCommand, runProgram } from "@holdfast/app-kit/program";
import picocolors from "picocolors";
import { runDemo } from "./demo.ts";
import { parseOptions } from "./options.ts";
import { liveView } from "./view/live.ts";
import { plainView } from "./view/plain.ts";

const { stdout } = process;

await runProgram("demo", readCommand(process.argv.slice(2), parseOptions), (options, cleanup) => {
  const isRoomy = stdout.columns >= 76 && stdout.rows >= 20;
  const view = stdout.isTTY && isRoomy ? liveView(stdout, picocolors) : plainView(stdout, picocolors);
  const print = (line: string): void => void stdout.write(`${line}\n`);
  if (options.redis) print(" Starting six redis-servers and the worker processes …");
  return runDemo(options, { view, colors: picocolors, print }, cleanup);
});
