import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { compactLua, joinLua, type LuaEdit } from "@holdfast/testkit/lua";
import { commonScript } from "../src/generated/common-script.ts";
import { floorScript } from "../src/generated/floor-script.ts";
import { lockScript } from "../src/generated/lock-script.ts";

/** The scripts of a node, with their main files. */
export const scripts = [
  { main: "lua/lock.lua", source: lockScript.source, sha: lockScript.sha },
  { main: "common/common.lua", source: commonScript.source, sha: commonScript.sha },
  { main: "floor/floor.lua", source: floorScript.source, sha: floorScript.sha },
] as const;

/** Returns a script with those of the faults edited into it that are in its files. */
export function edited(main: string, edits: readonly LuaEdit[]): string {
  const mainOf = (file: string) => scripts.find((script) => basename(script.main) === file)?.main ?? "lua/lock.lua";
  const mainFile = fileURLToPath(new URL(`../src/${main}`, import.meta.url));
  const own = edits.filter(({ file }) => mainOf(file) === main);
  return compactLua(joinLua(mainFile, own));
}
