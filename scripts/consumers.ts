/**
 * `pnpm consumers`: tries the packed packages with every TypeScript, runtime and browser that they are for, and writes
 * the tables of docs/generated/consumers.md. Downloads about 400 MB of runtimes at its first run.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "./consumers/chromium.ts";
import { compilers, settingsOf } from "./consumers/compilers.ts";
import { withConsumerProject } from "./consumers/project.ts";
import { otherRuntimes } from "./consumers/runtimes.ts";
import { page, problems } from "./consumers/tables.ts";
import { tryAll } from "./consumers/trials.ts";
import { run } from "./lib/run.ts";
import { root } from "./lib/workspace.ts";

await run("turbo", ["run", "build"], root);
const typeChecks = (await compilers()).flatMap((compiler) =>
  settingsOf(compiler).map((setting) => ({ compiler, setting })),
);
const selection = { typeChecks, runtimes: await otherRuntimes(), chromium: await chromium() };
const outcomes = await withConsumerProject((project) => tryAll(project, selection));
const written = page(outcomes);
await writeFile(join(root, "docs/generated/consumers.md"), written);

const failures = problems(outcomes);
console.log(written);
for (const failure of failures) console.log(failure);
console.log(`${outcomes.length - failures.length} passed, ${failures.length} failed`);
if (failures.length > 0) process.exitCode = 1;
