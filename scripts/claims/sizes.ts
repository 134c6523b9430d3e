import { run } from "../lib/run.ts";
import { scripts } from "../lib/workspace.ts";

/** Measures the files in `.size-limit.json`. size-limit fails when one exceeds its limit. */
export async function sizes(): Promise<string> {
  const measured: { name: string; size: number }[] = JSON.parse(await run("size-limit", ["--json"], scripts));
  return measured.map(({ name, size }) => `${name} ${(size / 1_000).toFixed(2)} kB`).join(", ");
}
