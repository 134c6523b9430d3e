import { levelDescriptions, levels, severities } from "../../src/doctor/finding-kind.ts";
import { kinds } from "../../src/doctor/judge.ts";
import { renderReport } from "../../src/doctor/render.ts";
import { example } from "./example.ts";
import type { Situation } from "./situation.ts";

/** Returns the page with its generated parts: an example, the levels, and the findings with the servers that show each. */
export function doctorPage(page: string, situations: readonly Situation[]): string {
  const bySeverity = severities.flatMap((severity) =>
    Object.entries(kinds).filter(([, kind]) => kind.severity === severity),
  );
  const findings = bySeverity.map(([code, { severity, level, when }]) => {
    const shown = situations.filter((situation) => situation.code === code).map(({ how }) => how);
    return [`\`${code}\``, severity, level ?? "", when, shown.join("; ")];
  });
  const described = levels.map((level) => {
    const { title, promise, needs } = levelDescriptions[level];
    return [`\`${level}\``, title, promise, needs];
  });
  const report = `\`\`\`console\n$ holdfast doctor\n${renderReport(example, 80)}\n\`\`\``;
  const parts: readonly (readonly [pattern: RegExp, part: string])[] = [
    [/^```console\n[\s\S]*?\n```$/gm, report],
    [/^\| `--require` \|[\s\S]*?(?=\n\n)/gm, table(["`--require`", "level", "guarantee", "requirements"], described)],
    [
      /^\| finding \|[\s\S]*?(?=\n\n)/gm,
      table(["finding", "severity", "level missed", "condition", "tested with"], findings),
    ],
  ];
  return parts.reduce((text, [pattern, part]) => {
    if (text.match(pattern)?.length !== 1) throw new Error(`the page has not one part like ${pattern}`);
    return text.replace(pattern, () => part);
  }, page);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
