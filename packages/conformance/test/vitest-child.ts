import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const vitest = fileURLToPath(new URL("../node_modules/vitest/vitest.mjs", import.meta.url));
const config = fileURLToPath(new URL("./child.vitest.config.ts", import.meta.url));

/** How long a child may take before it is killed, in milliseconds. */
export const childTimeoutMs = 300_000;

/** One test in vitest's JSON report. */
export interface Result {
  /** The titles of the describe blocks around it, outermost first. */
  readonly ancestorTitles: readonly string[];
  readonly title: string;
  readonly status: "passed" | "failed" | "skipped";
}

/** What a run has left. */
export interface Run {
  readonly results: readonly Result[];
  /** What a user sees, without colours. */
  readonly output: string;
}

/** Runs the tests of a folder, or those whose names match, in a separate vitest. */
export async function runVitest(folder: string, env: NodeJS.ProcessEnv = {}, names?: RegExp): Promise<Run> {
  const reportFolder = await mkdtemp(join(tmpdir(), "holdfast-conformance-"));
  try {
    const report = join(reportFolder, "report.json");
    const options = ["--root", folder, "--config", config, ...(names ? ["--testNamePattern", names.source] : [])];
    const reporters = ["--reporter", "default", "--reporter", "json"];
    const command = [vitest, "run", ...options, ...reporters, `--outputFile.json=${report}`];
    const child = spawn(process.execPath, command, {
      timeout: childTimeoutMs,
      env: { ...process.env, NO_COLOR: "1", ...env },
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
    await once(child, "close");
    const text = await readFile(report, "utf8").catch((cause) => {
      throw new Error(`vitest left no report of its run in ${folder}, but said: ${output}`, { cause });
    });
    const { testResults } = JSON.parse(text) as { testResults: { assertionResults: Result[] }[] };
    return { results: testResults.flatMap(({ assertionResults }) => assertionResults), output };
  } finally {
    await rm(reportFolder, { recursive: true });
  }
}
