import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** Runs a program, and resolves with its output when it ends on its own. */
export async function runToEnd(program: URL, ...args: readonly string[]): Promise<string> {
  const node = ["--conditions=@holdfast/source", "--import", "tsx", fileURLToPath(program), ...args];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, node, {
    timeout: 30_000,
    killSignal: "SIGKILL",
  });
  return stdout + stderr;
}
