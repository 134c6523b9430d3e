/**
 * `pnpm consumers`: tries the packed packages with every supported TypeScript, runtime and browser, and writes the
 * tables of docs/generated/consumers.md. The first run downloads about 400 MB of runtimes.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { filled, problems } from "./consumers/page.ts";
import { withConsumerProject } from "./consumers/project.ts";
import { chromium, otherRuntimes } from "./consumers/runtimes.ts";
import { tryAll } from "./consumers/trials.ts";
import { compilers } from "./consumers/types.ts";
import { withPackedPackages } from "./lib/packing.ts";
import { run } from "./lib/run.ts";
import { root } from "./lib/workspace.ts";

await run("turbo", ["run", "build"], root);
const selection = { compilers: await compilers(), runtimes: await otherRuntimes(), chromium: await chromium() };
const outcomes = await withPackedPackages((packages) =>
  withConsumerProject(packages, (project) => tryAll(project, selection)),
);
const page = join(root, "docs/generated/consumers.md");
const written = filled(await readFile(page, "utf8"), outcomes);
await writeFile(page, written);

const failures = problems(outcomes);
console.log(written);
for (const failure of failures) console.log(failure);
console.log(`${outcomes.length - failures.length} passed, ${failures.length} failed`);
if (failures.length > 0) process.exitCode = 1;
