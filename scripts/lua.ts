/** `pnpm lua`: generates the TypeScript module of each Lua script that has changed. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { generatedModule, isCurrent, luaScripts } from "./lib/lua-scripts.ts";
import { root } from "./lib/workspace.ts";

for (const script of luaScripts) {
  if (await isCurrent(script)) continue;
  await writeFile(join(root, script.module), generatedModule(script));
  console.log(`${script.module} generated from ${script.main}`);
}
