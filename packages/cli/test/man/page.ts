import type { Command } from "../../src/command.ts";
import { commands } from "../../src/command-line.ts";
import { environment } from "../../src/commands/supervised.ts";
import { exitCodesHelp } from "../../src/exit-codes.ts";
import { inFull, usageOf } from "../../src/help.ts";
import { type Described, remarked } from "../../src/options/option.ts";
import { serverOptions } from "../../src/options/server-options.ts";

/** Returns the manual page, in roff, with the texts of `--help`. */
export function manPage(): string {
  const examples = commands.flatMap(({ examples = [] }) => examples);
  return `${[
    '.\\" A test generates this page from the help of the commands: do not edit it.',
    '.TH HOLDFAST 1 "" "Holdfast" "User Commands"',
    section("NAME", "holdfast \\- distributed locks on the command line"),
    section("SYNOPSIS", ".B holdfast\n.I command\n[options]"),
    section("DESCRIPTION", escaped(description)),
    section("COMMANDS", commands.map(commandText).join("\n")),
    section(
      "SERVERS",
      `Every command that uses servers has these options.\n${optionsText(Object.entries(serverOptions))}`,
    ),
    section("ENVIRONMENT", verbatim(withoutTitle(environment))),
    section("EXAMPLES", verbatim(examples.map(inFull).join("\n"))),
    section("EXIT STATUS", verbatim(withoutTitle(exitCodesHelp))),
  ].join("\n")}\n`;
}

const description = `Runs commands under locks, shows and releases locks, and checks, heals and changes lock servers. Locks are in a
majority of independent Redis or Valkey servers, in a PostgreSQL, MySQL or MariaDB database, an etcd cluster, or a SQLite
file. The options of a command are in "holdfast command --help", too.`;

function commandText(command: Command): string {
  const [line = "", , ...text] = usageOf(command).split("\n");
  const words = Object.entries(command.words).map(([name, help]) => item(`.I ${escaped(name)}`, help));
  const own = Object.entries(command.options).filter(([name]) => !(name in serverOptions));
  return [`.SS "${escaped(line)}"`, escaped(text.join("\n")), ...words, optionsText(own)].filter(Boolean).join("\n");
}

function optionsText(options: readonly (readonly [name: string, Described])[]): string {
  const lines = options.map(([name, help]) => {
    const names = [...(help.alias ? [`-${help.alias}`] : []), `--${name}`].map((each) => `\\fB${escaped(each)}\\fR`);
    return item(`${names.join(", ")}${help.type === "boolean" ? "" : " \\fIvalue\\fR"}`, help);
  });
  return lines.join("\n");
}

function item(title: string, help: Described): string {
  return `.TP\n${title}\n${escaped(remarked(help))}`;
}

function section(title: string, text: string): string {
  return `.SH "${title}"\n${text}`;
}

function verbatim(text: string): string {
  return `.nf\n${escaped(text)}\n.fi`;
}

function withoutTitle(text: string): string {
  return text.trimEnd().split("\n").slice(1).join("\n");
}

/** Escapes text for roff: what it would replace by typographic characters, and a dot that would begin a request. */
function escaped(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("'", "\\(aq")
    .replaceAll('"', "\\(dq")
    .replaceAll("…", "...")
    .replaceAll(/^\./gm, "\\&.");
}
