/**
 * `pnpm nightly`: runs what takes too long for `pnpm test` and `pnpm check`, part by part, and prints a line for each.
 * Takes about four hours on two cores. Words on the command line select the parts that contain one of them;
 * `--verbose` shows the output of the commands.
 */
import { releaseRehearsal } from "./claims/release-rehearsal.ts";
import { nodeSqliteConforms } from "./claims/sqlite-drivers.ts";
import { type Claim, checkSelected } from "./lib/claim.ts";
import { run } from "./lib/run.ts";
import { root } from "./lib/workspace.ts";

const hourMs = 3_600_000;

await checkSelected([
  part("all tests pass, the long ones included", ["test"], { HOLDFAST_NIGHTLY: "1" }),
  part("every client conforms over every server", ["matrix"]),
  { claim: "the built-in SQLite of a newer Node passes the conformance suite", check: nodeSqliteConforms },
  // Also builds the packages, which the rehearsal packs.
  part("packed packages work for every consumer", ["consumers"]),
  { claim: "a release gives all packages one version, changelogs and tarballs", check: releaseRehearsal },
  part("the guide to adapters works in an empty project", ["guide"]),
  part("lock managers of other runtimes agree with the specification of Web Locks", ["web-locks"]),
  part("each safety rule has a test that fails when it is broken in any way", ["mutants"]),
  part("the simulation finds each fault that breaks a safety rule", ["mutants", "--by-simulation"]),
  part("tokens are in order in every state of the larger models", ["model", "--long"]),
  part("locks keep their guarantees in new worlds", ["simulate", "--long", "--fresh", "--keep"]),
  part("locks keep their guarantees under ten minutes of attacks", ["chaos", "--seconds", "600"]),
  part("leaders keep their guarantees under attack", ["chaos", "--election"]),
  part("locks keep their guarantees while servers change", ["chaos", "--membership"]),
  part("the demo runs clean", ["demo"]),
  part("locks at full speed leave nothing behind in ten minutes", ["chaos", "--soak", "--seconds", "600"]),
]);

/** A command of the root package. Its last line that says anything is the remark. */
function part(claim: string, command: readonly string[], env: Readonly<Record<string, string>> = {}): Claim {
  return {
    claim,
    async check() {
      const output = await run("pnpm", ["--silent", ...command], root, { env, timeoutMs: 4 * hourMs });
      return output.trimEnd().split("\n").at(-1);
    },
  };
}
