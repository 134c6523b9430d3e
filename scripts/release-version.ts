/** `pnpm release:version`: turns the changesets into versions and changelogs. Publishes and commits nothing. */
import { fillChangelogs } from "./lib/changelogs.ts";
import { run } from "./lib/run.ts";
import { root } from "./lib/workspace.ts";

console.log(await run("changeset", ["version"], root));
await fillChangelogs(root);
