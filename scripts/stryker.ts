/**
 * `pnpm stryker core|membership|redis [FILE …]`: mutates the sources of a package with Stryker, and lists the mutants that
 * no test of the package kills. Takes about a second per mutant, so name files: `pnpm stryker core src/fence.ts`.
 *
 * The list of `pnpm mutants` is curated instead: read the survivors, and add those that break a safety rule.
 */
import { join } from "node:path";
import { exec } from "tinyexec";
import { root, scripts } from "./lib/workspace.ts";

/** Stryker brings 130 packages. They are downloaded when they are needed, instead of being dependencies. */
const packages = ["@stryker-mutator/core@9.6.1", "@stryker-mutator/vitest-runner@9.6.1", "vitest@4.1.12"];

const [name, ...files] = process.argv.slice(2);
if (name !== "core" && name !== "membership" && name !== "redis") {
  console.error("Usage: pnpm stryker core|membership|redis [FILE …]");
  process.exit(2);
}
const mutate = files.length > 0 ? files : ["src/**/*.ts"];
const config = join(scripts, "stryker/stryker.config.json");
const args = [...packages.flatMap((each) => ["-p", each]), "stryker", "run", config, "--mutate", mutate.join(",")];
const stryker = exec("npx", ["-y", ...args], { nodeOptions: { cwd: join(root, "packages", name), stdio: "inherit" } });
await stryker;
process.exitCode = stryker.exitCode ?? 1;
