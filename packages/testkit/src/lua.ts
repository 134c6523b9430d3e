/** Joins the files of a Lua script, for the generator `pnpm lua` and for tests that inject faults into the script. */
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import luaparse from "luaparse";

/** A line of a joined script, with its origin. */
export interface LuaLine {
  readonly text: string;
  /** The name of the file in the folder of the script. */
  readonly file: string;
  /** The line number in that file, from 1. */
  readonly line: number;
}

/** A change to one file of a script. */
export interface LuaEdit {
  /** The name of the file in the folder of the script, such as `"acquire.lua"`. */
  readonly file: string;
  /** The text to replace. The file must contain it exactly once. */
  readonly from: string;
  readonly to: string;
}

/**
 * Reads a script from its main file, replacing each line `-- @include "name"` by `name.lua` of the same folder.
 *
 * @param edits changes to make to the files before joining them
 * @throws if an included file is missing or included twice, or an edit does not apply
 * @example
 *   const broken = compactLua(joinLua(mainFile, [{ file: "release.lua", from: "== owner", to: "~= ''" }]));
 */
export function joinLua(mainFile: string, edits: readonly LuaEdit[] = []): LuaLine[] {
  const folder = dirname(mainFile);
  const files = new Set<string>();

  const read = (file: string): LuaLine[] => {
    files.add(file);
    let content = readFileSync(join(folder, file), "utf8");
    for (const edit of edits.filter((each) => each.file === file)) content = edited(content, edit);
    const lines = content.trimEnd().split(/\r?\n/);
    return lines.flatMap((text, index) => expanded({ text, file, line: index + 1 }));
  };

  const expanded = (line: LuaLine): LuaLine[] => {
    if (!/^\s*--\s*@/.test(line.text)) return [line];
    const name = /^\s*-- @include "([^"/]+)"\s*$/.exec(line.text)?.[1];
    if (name === undefined) throw problem(line, 'expected -- @include "name"');
    const file = `${name}.lua`;
    if (files.has(file)) throw problem(line, `${file} is part of the script already`);
    if (!existsSync(join(folder, file))) throw problem(line, `there is no ${file} in this folder`);
    return read(file);
  };

  const lines = read(basename(mainFile));
  const astray = edits.find(({ file }) => !files.has(file));
  if (astray) throw new Error(`cannot edit ${astray.file}: it is not part of ${basename(mainFile)}`);
  return lines;
}

/**
 * Returns the source of a joined script without comments and needless white space.
 *
 * @throws if the script is not valid Lua 5.1, naming the file and line
 */
export function compactLua(lines: readonly LuaLine[]): string {
  const source = luaText(lines);
  expectSyntax(source, lines);
  const lexer = luaparse.parse(source, { wait: true, luaVersion: "5.1" });
  let compact = "";
  let end = 0;
  for (let token = lexer.lex(); token.type !== endOfFile; token = lexer.lex()) {
    const [start, next] = token.range;
    const gap = source.slice(end, start); // white space and comments
    const text = source.slice(start, next);
    if (gap !== "" && mustStayApart(compact, text)) compact += gap.includes("\n") ? "\n" : " ";
    compact += text;
    end = next;
  }
  return compact;
}

/** Whether a token would become part of the text before it, or mean something else right behind it. */
function mustStayApart(before: string, token: string): boolean {
  // A parenthesis may begin a statement, and would then look like a call of what comes before.
  return token.startsWith("(") || /(\w[\w.]|--|\[\[)$/.test(before.slice(-1) + token[0]);
}

/** Returns the text of a joined script, unchanged. */
export function luaText(lines: readonly LuaLine[]): string {
  return lines.map(({ text }) => text).join("\n");
}

/** The type of the end-of-file token of luaparse. */
const endOfFile = 1;

function edited(content: string, { file, from, to }: LuaEdit): string {
  const count = content.split(from).length - 1;
  if (count !== 1) throw new Error(`cannot edit ${file}: it contains ${JSON.stringify(from)} ${count} times, not once`);
  return content.replace(from, () => to);
}

function expectSyntax(source: string, lines: readonly LuaLine[]): void {
  try {
    luaparse.parse(source, { luaVersion: "5.1" });
  } catch (error) {
    const { message, line } = error as SyntaxError & { line: number };
    const origin = lines[line - 1] ?? lines.at(-1);
    throw origin ? problem(origin, message.replace(/^\[.*?\] /, "")) : error;
  }
}

function problem({ file, line }: LuaLine, message: string): Error {
  return new Error(`${file}:${line}: ${message}`);
}
