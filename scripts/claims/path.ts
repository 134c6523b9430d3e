import { run } from "../lib/run.ts";
import { root } from "../lib/workspace.ts";
import type { FileCalls } from "../path/coverage.ts";
import type { PathOfOneLock } from "../path/one-lock.ts";
import { totalsOf } from "../path/table.ts";

/** The most that may run of core to acquire an uncontended lock. Replies that arrive apart need 3 more functions. */
const bound = { files: 15, functions: 87 };

/** Fails if `pnpm path` counts more than the bound. */
export async function pathIsShort(): Promise<string> {
  const args = ["--conditions=@holdfast/source", "--import", "tsx", "scripts/path.ts", "--json"];
  const { acquire, release }: PathOfOneLock = JSON.parse(await run("node", args, root));
  const counts = `acquire ${countsOfCore(acquire)}, release ${countsOfCore(release)}`;
  const { files, functions } = totalsOf(inCore(acquire));
  if (files > bound.files || functions > bound.functions) throw new Error(`${counts}: see "pnpm path"`);
  return counts;
}

function countsOfCore(all: readonly FileCalls[]): string {
  const { files, functions } = totalsOf(inCore(all));
  return `${files} files and ${functions} functions`;
}

function inCore(all: readonly FileCalls[]): FileCalls[] {
  return all.filter((file) => file.package === "core");
}
