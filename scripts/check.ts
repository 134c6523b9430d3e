/**
 * `pnpm check`: checks what must be true of this repository besides its tests, claim by claim.
 *
 * Words on the command line select the claims that contain one of them. `--verbose` shows the output of the tools.
 */
import { join } from "node:path";
import { lockfileNamesNoRegistry } from "./claims/lockfile.ts";
import { generatedScriptsMatch, luaIsClean } from "./claims/lua.ts";
import { packedPackagesWork } from "./claims/packed-consumer.ts";
import { packedPackagesAreCorrect } from "./claims/packed-packages.ts";
import { pathIsShort } from "./claims/path.ts";
import { proseIsPlain } from "./claims/prose.ts";
import { sizes } from "./claims/sizes.ts";
import { type Claim, checkSelected } from "./lib/claim.ts";
import { withPackedPackages } from "./lib/packing.ts";
import { run } from "./lib/run.ts";
import { root, scripts } from "./lib/workspace.ts";

const depcruise = join(scripts, "node_modules/.bin/depcruise");
/** Under way from the first claim that needs it. */
let build: Promise<void> | undefined;

const claims: Claim[] = [
  { claim: "sources are formatted and lint-clean", check: tool("biome", ["check", "--error-on-warnings"]) },
  { claim: "types hold in sources, tests and scripts", check: tool("tsc", ["--build", ".", "apps/site"]) },
  ...[
    // The longest first, so that the shorter ones fill the time beside them.
    { claim: "packed packages are complete, and work for a consumer", check: built(packedPackagesAreRight) },
    {
      claim: "each safety rule has a test that fails when it is broken",
      check: tool("tsx", ["scripts/mutants.ts", "--quick"]),
    },
    { claim: "every public export is documented, and text reads plainly", check: docsAreRight },
    { claim: "no file, export or dependency is unused", check: tool("knip", []) },
    {
      claim: "imports point down and form no cycle",
      check: tool(depcruise, ["--config", "scripts/.dependency-cruiser.mjs", "packages", "apps", "scripts"]),
    },
    { claim: "generated files match their sources, and the lockfile names no registry", check: generatedFilesAreRight },
    { claim: "core stays within the bounds of its size, and of the path of one lock", check: built(weightIsBounded) },
  ].map((claim) => ({ ...claim, besideOthers: true })),
];

function packedPackagesAreRight(): Promise<string> {
  return withPackedPackages(
    async (packages) => `${await packedPackagesAreCorrect(packages)}; ${await packedPackagesWork(packages)}`,
  );
}

/** The run that looks for undocumented exports also writes the pages of the reference, for the site. */
async function docsAreRight(): Promise<string> {
  await tool("tsx", ["scripts/reference.ts"])();
  return proseIsPlain();
}

async function generatedFilesAreRight(): Promise<void> {
  await luaIsClean();
  await generatedScriptsMatch();
  await lockfileNamesNoRegistry();
}

async function weightIsBounded(): Promise<string> {
  return `${await sizes()}; ${await pathIsShort()}`;
}

function tool(command: string, args: readonly string[]): () => Promise<void> {
  return async () => {
    await run(command, args, root);
  };
}

/** Builds every package before the check. */
function built<T>(check: () => Promise<T>): () => Promise<T> {
  return async () => {
    build ??= tool("turbo", ["run", "build", "--output-logs=errors-only", "--log-order=grouped"])();
    await build;
    return check();
  };
}

await checkSelected(claims);
