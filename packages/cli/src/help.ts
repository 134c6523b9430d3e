/** The help of the program and its commands, and the script for completion. */
import { type Command, nameOf } from "./command.ts";
import { exitCodesHelp } from "./exit-codes.ts";
import { remarked } from "./options/option.ts";
import { lineWidth, wrapped } from "./output/format.ts";

/** Texts beside their names. */
type Rows = readonly (readonly [name: string, text: string])[];

const ownOptions = "Options:";

/** Returns the help of the program. */
export function generalHelp(commands: readonly Command[]): string {
  const completion = "Print a script that completes commands and options, for bash and zsh; there is none for fish";
  const rows = commands.map(({ line, describe }) => [`holdfast ${line}`, describe] as const);
  return [
    "holdfast <command>\n\nDistributed locks over Redis, PostgreSQL, MySQL, etcd or SQLite, on the command line.",
    section("Commands:", [...rows, ["holdfast completion", completion]]),
    section(ownOptions, [
      ["--version", "Show version number"],
      ["--help", "Show help"],
    ]),
    "Examples:\n  holdfast run backup --node redis://a --node redis://b --node redis://c -- ./backup.sh",
    exitCodesHelp,
  ].join("\n\n");
}

/** Returns the help of a command. */
export function helpOf(command: Command): string {
  const { options, examples = [], environment } = command;
  const named = Object.entries(options).map(([name, option]) => {
    const alias = option.alias === undefined ? "" : `-${option.alias}, `;
    return { title: option.group ?? ownOptions, row: [`${alias.padStart(4)}--${name}`, remarked(option)] as const };
  });
  const rowsOf = (group: string): Rows => named.filter(({ title }) => title === group).map(({ row }) => row);
  const words = Object.entries(command.words).map(([name, option]) => [name, remarked(option)] as const);
  return [
    usageOf(command),
    ...(words.length > 0 ? [section("Positionals:", words)] : []),
    ...[...new Set(named.map(({ title }) => title))].map((title) => section(title, rowsOf(title))),
    ...(examples.length > 0 ? [["Examples:", ...examples.map((each) => `  ${inFull(each)}`)].join("\n")] : []),
    environment === undefined ? exitCodesHelp : `${environment}\n${exitCodesHelp}`,
  ].join("\n\n");
}

/** Returns the whole command line, an empty line, and what the command does. */
export function usageOf({ line, rest = "[options]", text }: Command): string {
  return `holdfast ${line} ${rest}\n\n${text}`;
}

/** Returns a command line with the name of the program. */
export function inFull(line: string): string {
  return line.replace("$0", "holdfast");
}

function section(title: string, rows: Rows): string {
  const width = Math.max(...rows.map(([name]) => name.length)) + 4;
  const lines = rows.flatMap(([name, text]) => {
    const [first = "", ...more] = wrapped(text, lineWidth(100) - width);
    return [`  ${name}`.padEnd(width) + first, ...more.map((line) => " ".repeat(width) + line)];
  });
  return [title, ...lines].join("\n");
}

/** Returns a script for bash and zsh that completes commands and options. */
export function completionScript(commands: readonly Command[]): string {
  const cases = commands.map((command) => {
    const names = Object.keys(command.options).map((name) => `--${name}`);
    return `    ${nameOf(command)}) words="${names.join(" ")} --help";;`;
  });
  return `# holdfast completion >> ~/.bashrc, or ~/.zshrc
[ -z "$ZSH_VERSION" ] || { autoload -U +X bashcompinit; bashcompinit; }
_holdfast() {
  local words="${[...commands.map(nameOf), "completion"].join(" ")} --help --version"
  [ "$COMP_CWORD" -gt 1 ] && case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
    *) words="";;
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[$COMP_CWORD]}"))
}
complete -o default -F _holdfast holdfast`;
}
