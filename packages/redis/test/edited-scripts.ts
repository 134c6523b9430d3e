import { fileURLToPath } from "node:url";
import { compactLua, joinLua, type LuaEdit } from "@holdfast/testkit/lua";
import { commonScript } from "../src/generated/common-script.ts";
import { floorScript } from "../src/generated/floor-script.ts";
import { lockScript } from "../src/generated/lock-script.ts";

/** The scripts of a node, with their main files. */
const scripts = [
  { main: "floor/floor.lua", script: floorScript },
  { main: "lua/common.lua", script: commonScript },
  { main: "lua/lock.lua", script: lockScript },
].map(({ main, script }) => ({ script, path: fileURLToPath(new URL(`../src/${main}`, import.meta.url)) }));

/** Returns the scripts that the faults change, with their sources afterwards. */
export function editedScripts(edits: readonly LuaEdit[]) {
  return scripts.flatMap(({ path, script }) => {
    const files = new Set(joinLua(path).map(({ file }) => file));
    const own = edits.filter(({ file }) => files.has(file));
    return own.length === 0 ? [] : [{ script, faulty: compactLua(joinLua(path, own)) }];
  });
}
