import { run } from "../lib/run.ts";
import { root } from "../lib/workspace.ts";
import { totalsOf } from "../path/coverage.ts";
import type { PathOfOneLock } from "../path/one-lock.ts";

/**
 * The most that may run of core and the Redis packages to acquire an uncontended lock, and to release it. Replies that
 * arrive apart need some calls and one function more than `pnpm path` shows.
 */
const bounds = {
  acquire: { files: 20, functions: 75, calls: 160 },
  release: { files: 16, functions: 60, calls: 130 },
};

/** Fails if `pnpm path` counts more than the bounds. */
export async function pathIsShort(): Promise<string> {
  const args = ["--conditions=@holdfast/source", "--import", "tsx", "scripts/path.ts", "--json"];
  const path: PathOfOneLock = JSON.parse(await run("node", args, root));
  const counts = (["acquire", "release"] as const).map((step) => {
    const { files, functions, calls } = totalsOf(path[step]);
    const text = `${step} ${files} files, ${functions} functions and ${calls} calls`;
    const bound = bounds[step];
    if (files > bound.files || functions > bound.functions || calls > bound.calls) {
      throw new Error(`${text}, more than ${bound.files}, ${bound.functions} and ${bound.calls}: see "pnpm path"`);
    }
    return text;
  });
  return counts.join("; ");
}
