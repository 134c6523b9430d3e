/** The broken scripts run nightly, on a real server. Here, each fault must still be one of the present scripts. */
import { expect, test } from "vitest";
import { editedScripts } from "./edited-scripts.ts";
import { scriptMutants, twoSteps } from "./script-mutants.ts";

const all = [...scriptMutants, twoSteps];

test.each(all)("a node that $fault differs from the present scripts", ({ edits }) => {
  const changed = editedScripts(edits);
  expect(changed).not.toEqual([]);
  for (const { script, faulty } of changed) expect(faulty).not.toBe(script.source);
});

test("broken scripts are listed in docs/generated/broken-lock-scripts.md (vitest -u writes the page)", async () => {
  const heading = `# Broken lock scripts that tests catch

Each one is a node of \`@holdfast/redis\` with one fault edited into the Lua files of its scripts, run on a real server. The
test beside it passes for the correct scripts and must fail for the broken ones: a test of the conformance suite, or the
comparison of random histories, which the lock script and the common script, in one call or in several, must play alike.
\`script-mutants.test.ts\` generates this page: do not edit it by hand.`;
  const rows = all.map(({ fault, statement }) => `| A node that ${fault} | ${statement} |`);
  const page = [heading, "", "| broken node | caught by |", "| --- | --- |", ...rows, ""].join("\n");
  await expect(page).toMatchFileSnapshot("../../../docs/generated/broken-lock-scripts.md");
});
