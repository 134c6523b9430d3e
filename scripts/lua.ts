/**
 * `pnpm lua`: generates the TypeScript module of each Lua script. `--check` changes nothing, and fails if a module does
 * not match its Lua files.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { generatedModule, isCurrent, type LuaScript, luaScripts } from "./lib/lua-scripts.ts";
import { root } from "./lib/workspace.ts";

const isCheck = process.argv.includes("--check");

for (const script of luaScripts) {
  await update(script).catch((error: Error) => {
    console.error(`${script.main}: ${error.message}`);
    process.exitCode = 1;
  });
}

async function update(script: LuaScript): Promise<void> {
  if (await isCurrent(script)) return;
  if (isCheck) throw new Error(`${script.module} does not match: run pnpm lua`);
  await writeFile(join(root, script.module), generatedModule(script));
  console.log(`${script.module} generated from ${script.main}`);
}
