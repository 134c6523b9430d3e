import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { compactLua, joinLua, type LuaEdit } from "@holdfast/testkit/lua";
import { commonScript } from "../src/generated/common-script.ts";
import { floorScript } from "../src/generated/floor-script.ts";
import { lockScript } from "../src/generated/lock-script.ts";

/** The scripts of a node, with their main files. */
const scripts = [
  { main: "common/common.lua", script: commonScript },
  { main: "floor/floor.lua", script: floorScript },
  { main: "lua/lock.lua", script: lockScript },
] as const;

/** Returns the scripts that the faults change, with their sources afterwards. */
export function editedScripts(edits: readonly LuaEdit[]) {
  const mainOf = (file: string) => scripts.find(({ main }) => basename(main) === file)?.main ?? "lua/lock.lua";
  return scripts.flatMap(({ main, script }) => {
    const own = edits.filter(({ file }) => mainOf(file) === main);
    if (own.length === 0) return [];
    const faulty = compactLua(joinLua(fileURLToPath(new URL(`../src/${main}`, import.meta.url)), own));
    return [{ script, faulty }];
  });
}
