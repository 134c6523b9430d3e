/** Runs the code that a Markdown page shows, so that it cannot rot. */
import { execFile as execFileWithCallback } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { fromMarkdown } from "mdast-util-from-markdown";
import { toString as textOf } from "mdast-util-to-string";
import { visit } from "unist-util-visit";
import { startRedisServer } from "./redis-server.ts";

const execFile = promisify(execFileWithCallback);

/** A TypeScript block of a Markdown page. */
export interface ReadmeExample {
  /** The code as the reader sees it. A test may replace what it must, such as the ports of servers. */
  readonly code: string;
  /** The line of the page at which the block opens. */
  readonly line: number;
  /** The nearest heading above the block; empty when there is none. */
  readonly heading: string;
}

/** Spellings that would let a block slip past the tests. */
const OTHER_SPELLINGS = new Set(["typescript", "tsx", "mts", "js", "javascript", "mjs", "cjs"]);

/**
 * The `ts` blocks of a Markdown page, in order.
 *
 * A block is left out only when its fence says why: "```ts no-run: needs a Cluster of six servers". JavaScript, and
 * other spellings of `ts`, are refused, so that no code is left untested by accident.
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

/**
 * Starts a server for each of the ports from 7001 on that the code names, and runs the code with the ports of those
 * servers in their places, as {@link runExample} does. The servers are stopped when it has ended.
 */
export async function runExampleWithServers(
  code: string,
  packageDirectory: string,
  timeoutMs?: number,
): Promise<string> {
  const ports = [...new Set(code.match(/\b700\d\b/g))];
  const servers = await Promise.all(ports.map(() => startRedisServer()));
  try {
    const portOf = (port: string): string => String(servers[ports.indexOf(port)]?.port);
    return await runExample(code.replace(/\b700\d\b/g, portOf), packageDirectory, timeoutMs);
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

function isExcluded(info: string, where: string): boolean {
  if (info === "") return false;
  if (/^no-run: \S/.test(info)) return true;
  throw new Error(`${where}: "ts ${info}" is not understood; a block that cannot run says "ts no-run: <reason>"`);
}

/**
 * Runs TypeScript as a program of its own that stands inside `packageDirectory`, so that it imports what that package
 * can import, workspace packages from source. Resolves with what it printed; rejects when it fails or takes longer
 * than `timeoutMs` (default 30 000).
 */
export async function runExample(code: string, packageDirectory: string, timeoutMs = 30_000): Promise<string> {
  const directory = join(packageDirectory, "reports"); // not under version control
  const file = join(directory, `example-${randomUUID()}.ts`);
  await mkdir(directory, { recursive: true });
  await writeFile(file, code);
  const args = ["--conditions=@holdfast/source", "--import", "tsx", file];
  try {
    const { stdout } = await execFile(process.execPath, args, { cwd: packageDirectory, timeout: timeoutMs });
    return stdout;
  } catch (error) {
    const { killed, stdout, stderr } = error as { killed: boolean; stdout: string; stderr: string };
    const reason = killed ? `did not end within ${timeoutMs} ms` : "failed";
    throw new Error(`the example ${reason}:\n${stdout}${stderr}`, { cause: error });
  } finally {
    await rm(file, { force: true });
  }
}
