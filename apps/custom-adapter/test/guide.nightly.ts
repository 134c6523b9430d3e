import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { followGuide, guideSteps, type Outcome } from "@holdfast/docs-testkit";
import { onTestFinished, test } from "vitest";

const app = fileURLToPath(new URL("..", import.meta.url));
const tools = join(app, "../../node_modules/.bin");
const commandTimeoutMs = 120_000;

/** The commands of the guide, and their counterparts here: the same tools, with the packages from source. */
const spelledHere: readonly (readonly [string, string])[] = [
  ["npx tsc", `${tools}/tsc --customConditions @holdfast/source --lib es2023,esnext.disposable,dom`],
  ["npx vitest run", `${tools}/vitest run`],
  ["npx tsx", `${process.execPath} --conditions=@holdfast/source --import tsx`],
];

test(
  "the guide works as described",
  async () => {
    // Inside the package, for its dependencies, and not under version control.
    await mkdir(join(app, "reports"), { recursive: true });
    const folder = await mkdtemp(join(app, "reports/guide-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const steps = await guideSteps(join(app, "README.md"));
    await followGuide(steps, folder, async (command) => {
      if (isDone(command)) return { output: "", failed: false };
      const here = spelledHere.reduce((text, [theirs, ours]) => text.replaceAll(theirs, ours), command);
      return runIn(folder, here);
    });
  },
  10 * commandTimeoutMs,
);

/** Whether a command is unnecessary here: the dependencies are installed, and `pnpm guide` runs all broken nodes. */
function isDone(command: string): boolean {
  return command.startsWith("npm ") || command === "npx vitest run test/broken-nodes.test.ts";
}

/** Runs a line of shell. */
function runIn(folder: string, command: string): Promise<Outcome> {
  const options = { cwd: folder, timeout: commandTimeoutMs, env: { ...process.env, NO_COLOR: "1" } };
  return new Promise((resolve) => {
    execFile("sh", ["-c", command], options, (error, stdout, stderr) => {
      resolve({ output: stdout + stderr, failed: error !== null });
    });
  });
}
