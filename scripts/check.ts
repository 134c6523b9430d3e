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
import { bound, pathIsShort } from "./claims/path.ts";
import { proseIsPlain } from "./claims/prose.ts";
import { releaseRehearsal } from "./claims/release-rehearsal.ts";
import { sizes } from "./claims/sizes.ts";
import { nodeSqliteConforms } from "./claims/sqlite-drivers.ts";
import { type Claim, checkSelected } from "./lib/claim.ts";
import { run } from "./lib/run.ts";
import { root, scripts } from "./lib/workspace.ts";

const depcruise = join(scripts, "node_modules/.bin/depcruise");
const build = once(tool("turbo", ["run", "build", "--output-logs=errors-only", "--log-order=grouped"]));
/** Also writes the pages of the reference, for the site. */
const reference = once(tool("tsx", ["scripts/reference.ts"]));

const claims: Claim[] = [
  { claim: "sources are formatted and lint-clean", check: tool("biome", ["check", "--error-on-warnings"]) },
  { claim: "every package builds", check: build },
  { claim: "types hold in sources, tests and scripts", check: tool("tsc", ["--build", ".", "apps/site"]) },
  // The longest first, so that the shorter ones fill the time beside them.
  ...besideOthers([
    { claim: "packed packages work for a consumer", check: built(packedPackagesWork) },
    {
      claim: "each safety rule has a test that fails when it is broken",
      check: tool("tsx", ["scripts/mutants.ts", "--quick"]),
    },
    {
      claim: "locks keep their guarantees in simulated worlds",
      check: tool("pnpm", ["--silent", "simulate", "--runs", "2000"]),
    },
    {
      claim: "the simulation finds what breaks a safety rule",
      check: tool("tsx", ["scripts/mutants.ts", "--by-simulation", "--quick"]),
    },
    { claim: "the built-in SQLite of a newer Node passes the conformance suite", check: nodeSqliteConforms },
    { claim: "packed packages contain what they should", check: built(packedPackagesAreCorrect) },
    { claim: "tokens are in order in every state of the model", check: tool("tsx", ["scripts/model.ts"]) },
    { claim: "a release gives all packages one version, changelogs and tarballs", check: built(releaseRehearsal) },
    { claim: "every public export is documented, with an example", check: reference },
    { claim: "no file, export or dependency is unused", check: tool("knip", []) },
    {
      claim: "imports point down and form no cycle",
      check: tool(depcruise, ["--config", "scripts/.dependency-cruiser.mjs", "packages", "apps", "scripts"]),
    },
    {
      claim: "core stays under 17.4 kB, minified and gzipped, and its CommonJS build under 18 kB",
      check: built(sizes),
    },
    { claim: "pages, comments and messages read plainly", check: proseIsPlain },
    { claim: "Lua files are lint-clean", check: luaIsClean },
    { claim: "generated scripts match their Lua files", check: generatedScriptsMatch },
    { claim: "the lockfile names no registry", check: lockfileNamesNoRegistry },
  ]),
  {
    claim: `one lock needs at most ${bound.files} files and ${bound.functions} functions of core`,
    check: pathIsShort,
  },
  // Each of these waits most of the time, for servers and processes that no other claim uses.
  ...besideOthers([
    { claim: "locks keep their guarantees under attack", check: tool("pnpm", ["--silent", "chaos"]) },
    { claim: "the demo runs clean", check: tool("pnpm", ["--silent", "demo"]) },
  ]),
  { claim: "locks at full speed leave nothing behind", check: tool("pnpm", ["--silent", "soak"]) },
];

function besideOthers(some: readonly Claim[]): Claim[] {
  return some.map((claim) => ({ ...claim, besideOthers: true }));
}

function tool(command: string, args: readonly string[]): () => Promise<void> {
  return async () => {
    await run(command, args, root);
  };
}

function once<T>(act: () => Promise<T>): () => Promise<T> {
  let outcome: Promise<T> | undefined;
  return () => {
    outcome ??= act();
    return outcome;
  };
}

/** Builds before the check, as the claim about builds may not be selected. */
function built<T>(check: () => Promise<T>): () => Promise<T> {
  return async () => {
    await build().catch(() => {
      throw new Error("the packages do not build");
    });
    return check();
  };
}

await checkSelected(claims);
