/** Runs the code that a Markdown page shows. */
import { execFile as execFileWithCallback } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import { fromMarkdown } from "mdast-util-from-markdown";
import { toString as textOf } from "mdast-util-to-string";
import { visit } from "unist-util-visit";
import { examplePorts, startExampleServer } from "./example-servers.ts";

const execFile = promisify(execFileWithCallback);

/** A TypeScript block of a Markdown page. */
export interface ReadmeExample {
  /** The code exactly as the page shows it. */
  readonly code: string;
  /** The line of the page on which the block opens. */
  readonly line: number;
  /** The nearest heading above the block, or an empty string. */
  readonly heading: string;
}

/** Info strings that would let a block escape the tests. */
const OTHER_SPELLINGS = new Set(["typescript", "tsx", "mts", "js", "javascript", "mjs", "cjs"]);

/**
 * Returns the `ts` blocks of a Markdown page, in order.
 *
 * A fence may name the tab that shows its block: "```ts [ioredis]". A block is left out only if its fence gives a reason:
 * "```ts no-run: needs a Cluster of six servers".
 *
 * @throws {Error} if a block is JavaScript or spells `ts` differently, so that no code escapes the tests by accident
 */
export async function readmeExamples(path: string | URL): Promise<ReadmeExample[]> {
  const examples: ReadmeExample[] = [];
  let heading = "";
  visit(fromMarkdown(await readFile(path)), (node) => {
    if (node.type === "heading") heading = textOf(node);
    if (node.type !== "code") return;
    const line = node.position?.start.line ?? 0;
    const where = `${path}:${line}`;
    if (OTHER_SPELLINGS.has(node.lang ?? "")) throw new Error(`${where}: write this block as "ts", not "${node.lang}"`);
    if (node.lang === "ts" && !isExcluded(node.meta ?? "", where)) examples.push({ code: node.value, line, heading });
  });
  return examples;
}

function isExcluded(info: string, where: string): boolean {
  const isTab = /^\[[^\]]+\]$/.test(info);
  if (info === "" || isTab) return false;
  if (/^no-run: \S/.test(info)) return true;
  throw new Error(`${where}: "ts ${info}" is not understood; a block that cannot run says "ts no-run: <reason>"`);
}

/**
 * Runs TypeScript as a separate program inside `packageDirectory`, so that it can import what that package can import,
 * with workspace packages from source. For each of the {@link examplePorts} that the code names, a server is started and
 * its port substituted.
 *
 * @returns what the program printed
 * @throws {Error} if the program cannot be bundled, fails or takes longer than `timeoutMs`
 */
export async function runExample(code: string, packageDirectory: string, timeoutMs = 60_000): Promise<string> {
  const ports = examplePorts.filter((port) => code.includes(port));
  const servers = await Promise.all(ports.map(startExampleServer));
  try {
    const withPorts = ports.reduce((text, port, index) => text.replaceAll(port, `${servers[index]?.port}`), code);
    return await run(withPorts, packageDirectory, timeoutMs);
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

async function run(code: string, packageDirectory: string, timeoutMs: number): Promise<string> {
  const bundle = await bundleProgram(join(packageDirectory, "reports", `example-${randomUUID()}.ts`), code);
  try {
    const { stdout } = await execFile(process.execPath, [bundle], { cwd: packageDirectory, timeout: timeoutMs });
    return stdout;
  } catch (error) {
    const { killed, stdout, stderr } = error as { killed: boolean; stdout: string; stderr: string };
    const reason = killed ? `did not end within ${timeoutMs} ms` : "failed";
    throw new Error(`the example ${reason}:\n${stdout}${stderr}`, { cause: error });
  } finally {
    await rm(bundle);
  }
}
