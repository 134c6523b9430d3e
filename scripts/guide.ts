/**
 * `pnpm guide`: follows "Write your own adapter" step by step, in an empty project outside this workspace, with the
 * packages as they would be published. Takes about a minute, and needs a registry.
 */
import { delimiter, join } from "node:path";
import { followGuide, guideSteps, type Outcome } from "@holdfast/docs-testkit";
import { checkAll } from "./lib/claim.ts";
import { type PackedPackage, pack } from "./lib/packing.ts";
import { run } from "./lib/run.ts";
import { withTemporaryFolder } from "./lib/temporary-folder.ts";
import { root } from "./lib/workspace.ts";

const guide = join(root, "apps/custom-adapter/README.md");

async function guideWorks(): Promise<string> {
  await run("turbo", ["run", "build", "--output-logs=errors-only"], root);
  const steps = await guideSteps(guide);
  await withTemporaryFolder(async (tarballs) => {
    const packages = await pack(root, tarballs);
    await withTemporaryFolder((folder) =>
      followGuide(steps, folder, (command) => shell(withTarballs(command, packages), folder)),
    );
  });
  return `${steps.length} steps`;
}

/** Returns the command with tarballs in place of our packages, which may not be published yet. */
function withTarballs(command: string, packages: readonly PackedPackage[]): string {
  if (!command.startsWith("npm install ")) return command;
  const words = command.split(" ");
  return words.map((word) => packages.find(({ manifest }) => manifest.name === word)?.tarball ?? word).join(" ");
}

async function shell(command: string, folder: string): Promise<Outcome> {
  try {
    return { output: await run("sh", ["-c", command], folder), failed: false };
  } catch (error) {
    return { output: String(error), failed: true };
  }
}

// A tool that the guide forgets to install must not be found in this workspace.
const path = (process.env.PATH ?? "").split(delimiter);
process.env.PATH = path.filter((folder) => !folder.startsWith(root)).join(delimiter);

const { failed } = await checkAll([{ claim: "the guide to adapters works in an empty project", check: guideWorks }]);
if (failed > 0) process.exitCode = 1;
