import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { compactLua, joinLua, type LuaEdit } from "../src/lua.ts";

/** Writes the files to a temporary folder, and returns the path of the first one, the main file. */
function script(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return join(folder, Object.keys(files)[0] ?? "");
}

const parts = {
  "main.lua": '-- The main file.\n-- @include "outer"\n\nreturn outer()\n',
  "outer.lua": '-- @include "inner"\nlocal function outer()\n  return inner() -- again\nend\n',
  "inner.lua": "local function inner()\n  return 1\nend\n",
};

describe("joinLua()", () => {
  test("replaces each include by the file, and returns the origin of each line", () => {
    const lines = joinLua(script(parts));
    expect(lines.map(({ file, line, text }) => `${file}:${line}: ${text}`)).toEqual([
      "main.lua:1: -- The main file.",
      "inner.lua:1: local function inner()",
      "inner.lua:2:   return 1",
      "inner.lua:3: end",
      "outer.lua:2: local function outer()",
      "outer.lua:3:   return inner() -- again",
      "outer.lua:4: end",
      "main.lua:3: ",
      "main.lua:4: return outer()",
    ]);
  });

  test.each<[message: string, files: Readonly<Record<string, string>>]>([
    ["main.lua:2: there is no gone.lua in this folder", { "main.lua": '\n-- @include "gone"' }],
    [
      "main.lua:2: part.lua is part of the script already",
      { "main.lua": '-- @include "part"\n-- @include "part"', "part.lua": "" },
    ],
    [
      "b.lua:1: a.lua is part of the script already",
      { "main.lua": '-- @include "a"', "a.lua": '-- @include "b"', "b.lua": '-- @include "a"' },
    ],
    ["main.lua:1: main.lua is part of the script already", { "main.lua": '-- @include "main"' }],
    ['main.lua:1: expected -- @include "name"', { "main.lua": "-- @include part" }],
    ['main.lua:1: expected -- @include "name"', { "main.lua": '--@includes "part"' }],
    ['main.lua:1: expected -- @include "name"', { "main.lua": '-- @include "../part"' }],
  ])("throws %s", (message, files) => {
    expect(() => joinLua(script(files))).toThrow(message);
  });

  test("applies edits to the files that they name", () => {
    const edits: LuaEdit[] = [
      { file: "inner.lua", from: "1", to: "'$&'" },
      { file: "main.lua", from: "return outer()", to: "return inner()" },
    ];
    expect(compactLua(joinLua(script(parts), edits))).toBe(
      "local function inner()return'$&'end\nlocal function outer()return inner()end\nreturn inner()",
    );
  });

  test.each<[message: string, edit: LuaEdit]>([
    ['cannot edit inner.lua: it contains "2" 0 times, not once', { file: "inner.lua", from: "2", to: "3" }],
    ["cannot edit other.lua: it is not part of main.lua", { file: "other.lua", from: "inner", to: "" }],
    ['cannot edit outer.lua: it contains "outer" 2 times', { file: "outer.lua", from: "outer", to: "" }],
  ])("throws %s", (message, edit) => {
    const files = { ...parts, "outer.lua": `${parts["outer.lua"]}\nreturn outer` };
    expect(() => joinLua(script(files), [edit])).toThrow(message);
  });
});

describe("compactLua()", () => {
  const compact = (text: string): string => compactLua(joinLua(script({ "main.lua": text })));

  test.each([
    ["comments", "local a = 1 -- one\n--[[ two\nlines ]] local b = 2 --[==[ ]] ]==]\n--", "local a=1\nlocal b=2"],
    ["blank lines and indentation", "\n\nif a then\n\n    b()\r\n\tend\n \n", "if a then\nb()end"],
    ["a comment between two words, but not their gap", "return--[[ no ]]a", "return a"],
    ["spaces that separate nothing", "return { 1 .. 2, - - a, b [c], f (d) }", "return{1 ..2,- -a,b[c],f (d)}"],
    ["no line break before a parenthesis", "a = b;\n(c or d)()", "a=b;\n(c or d)()"],
  ])("removes %s", (_, text, expected) => {
    expect(compact(text)).toBe(expected);
  });

  test.each([
    ["quoted strings", `return'--a\\'--b',"--[[ c \\" -- ]]",'\\\\'`],
    ["long strings", "return[[\n  -- a\n\n  b\n]],[==[ ]] -- c ]==]"],
    ["text beyond ASCII", "return'é–🔒 --'"],
    ["operators", "return-a- -b,{a.b[c]},#d,a..b"],
  ])("keeps %s", (_, text) => {
    expect(compact(text)).toBe(text);
  });

  test("throws what is not Lua 5.1, naming file and line", () => {
    const broken = { ...parts, "inner.lua": "local function inner()\n  return 1 +\nend" };
    expect(() => compactLua(joinLua(script(broken)))).toThrow("inner.lua:3: ");
    expect(() => compact("local a = 1\nreturn 7 // 2")).toThrow("main.lua:2: ");
    expect(() => compact("if a then")).toThrow("main.lua:1: ");
    expect(() => compact("return 'ab")).toThrow("main.lua:1: unfinished string");
  });
});
