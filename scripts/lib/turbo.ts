import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { exec } from "tinyexec";
import { root } from "./workspace.ts";

/** What these scripts read in the summary of a turbo run. */
export interface TurboSummary {
  /** Every package that the run was about, also those that do not have the task. */
  readonly packages: readonly string[];
  readonly tasks: readonly {
    readonly package: string;
    readonly execution?: { readonly startTime: number; readonly endTime: number; readonly exitCode?: number };
  }[];
}

/** Runs turbo in this terminal, and tells how each task ended; `undefined` when turbo itself did not get that far. */
export async function turboRun(args: readonly string[]): Promise<TurboSummary | undefined> {
  const summaries = join(root, ".turbo/runs");
  await rm(summaries, { force: true, recursive: true });
  await exec("turbo", ["run", ...args, "--summarize"], {
    nodeOptions: { cwd: root, stdio: ["ignore", "inherit", "inherit"], env: { DO_NOT_TRACK: "1" } },
  });
  const [summary] = await readdir(summaries).catch(() => []);
  return summary && JSON.parse(await readFile(join(summaries, summary), "utf8"));
}
