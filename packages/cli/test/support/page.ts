/** Reads the commands of a page of the documentation, and runs them in a shell. */
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { reapedDirectory } from "@holdfast/testkit";
import { packageFolder, type Started, shellWords, start } from "./program.ts";

/** A block of code. */
export interface Block {
  readonly language: string;
  readonly remark: string;
  readonly text: string;
}

/** Returns the blocks of code of a page, by its path from the folder of the package. */
export async function blocksOf(page: string): Promise<readonly Block[]> {
  const text = await readFile(join(packageFolder, page), "utf8");
  return [...text.matchAll(/^```(\w+)(.*)\n([\s\S]*?)^```$/gm)].map(([, language = "", remark = "", text = ""]) => ({
    language,
    remark,
    text,
  }));
}

/** Removes what differs between two runs: servers, owners, numbers, and the widths of columns. */
export function essence(text: string): string {
  return text
    .replaceAll(/\b[0-9a-f]{32}\b/g, "OWNER")
    .replaceAll(/\d+/g, "N")
    .replaceAll(/ +/g, " ")
    .trim();
}

type Env = Readonly<Record<string, string>>;

/**
 * Returns a function that runs scripts in a folder of their own, where `holdfast` is the program.
 *
 * @param ports of the servers that pages name 7001, 7002 and so on
 * @param prologue a part of a shell script that may change the arguments of `holdfast`
 */
export async function shell(ports: readonly number[], prologue = ""): Promise<(script: string, env?: Env) => Started> {
  const cwd = await reapedDirectory();
  await writeFile(join(cwd, "holdfast"), `#!/bin/sh\n${prologue}exec ${shellWords} "$@"\n`);
  await chmod(join(cwd, "holdfast"), 0o755);
  const PATH = `${cwd}:${process.env.PATH}`;
  return (script, env = {}) => {
    const withPorts = script.replaceAll(/\b700(\d)\b/g, (_, digit) => String(ports[digit - 1]));
    return start("sh", ["-ec", withPorts], { env: { PATH, ...env }, cwd });
  };
}
