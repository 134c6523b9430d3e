/** Fails if the workspace lacks the address of the repository, which a release needs: see RELEASING.md. */
import { requireRepository } from "./lib/published-folder.ts";
import { root } from "./lib/workspace.ts";

try {
  console.log(`releasing from ${await requireRepository(root)}`);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
