import { dirname } from "node:path";
import { type LuaLine, luaText } from "@holdfast/testkit/lua";
import { exec } from "tinyexec";
import { expectNone } from "../lib/claim.ts";
import { isCurrent, linesOf, luaScripts, unusedFiles } from "../lib/lua-scripts.ts";
import { ensure } from "../lib/programs.ts";
import { root } from "../lib/workspace.ts";

/** Checks that each generated module matches its Lua files, and that every Lua file belongs to a script. */
export async function generatedScriptsMatch(): Promise<void> {
  const problems: string[] = [];
  for (const script of luaScripts) {
    const { main, module } = script;
    if (!(await isCurrent(script))) problems.push(`${module} differs from ${main}: run pnpm lua`);
  }
  const unused = await unusedFiles(luaScripts);
  problems.push(...unused.map((file) => `${file}: no script includes it`));
  expectNone(problems);
}

/** Lints each script as a whole, as its files share local names. */
export async function luaIsClean(): Promise<void> {
  await ensure("luacheck");
  const problems: string[] = [];
  for (const script of luaScripts) {
    const lines = linesOf(script);
    problems.push(...(await warningsAbout(lines)).map((warning) => `${dirname(script.main)}/${warning}`));
  }
  expectNone(problems);
}

async function warningsAbout(lines: readonly LuaLine[]): Promise<string[]> {
  const { stdout, stderr, exitCode } = await exec("luacheck", ["--formatter=plain", "--codes", "-"], {
    stdin: luaText(lines),
    nodeOptions: { cwd: root }, // where .luacheckrc is
  });
  const warnings = located(stdout, lines);
  if (exitCode !== 0 && warnings.length === 0) throw new Error(`luacheck failed:\n${stdout}${stderr}`);
  return warnings;
}

/** Returns the warnings of luacheck about a joined script, each with the file and line that it comes from. */
export function located(report: string, lines: readonly LuaLine[]): string[] {
  return [...report.matchAll(/^stdin:(\d+):(\d+): (.*)$/gm)].map(([, line, column, message]) => {
    const origin = lines[Number(line) - 1] ?? lines.at(-1);
    return `${origin?.file}:${origin?.line}:${column}: ${message}`;
  });
}
