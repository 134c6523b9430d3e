import { exec } from "tinyexec";

const verbose = process.argv.includes("--verbose");

/** Options of a command. */
export interface RunOptions {
  /** Variables added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** The time after which the command is killed, which is a failure. Default: 10 minutes. */
  readonly timeoutMs?: number;
}

/**
 * Runs a command, or a tool from the `node_modules/.bin` of `cwd` and the folders above it. Resolves with its output,
 * or rejects with it when the command fails. With `--verbose` the output is also printed as it arrives.
 */
export async function run(
  command: string,
  args: readonly string[],
  cwd: string,
  { env = {}, timeoutMs = 600_000 }: RunOptions = {},
): Promise<string> {
  const tool = exec(command, args, {
    timeout: timeoutMs,
    nodeOptions: {
      cwd,
      env: { DO_NOT_TRACK: "1", NO_COLOR: "1", ...env },
      stdio: ["ignore", "pipe", "pipe"],
      killSignal: "SIGKILL",
    },
  });
  const line = [command, ...args].join(" ");
  let output = "";
  try {
    for await (const text of tool) {
      output += `${text}\n`;
      if (verbose) console.log(text);
    }
  } catch (cause) {
    const reason = tool.killed ? `did not end within ${timeoutMs} ms` : "could not be run";
    throw new Error(`"${line}" ${reason}:\n${output}`, { cause });
  }
  if (tool.exitCode === 0) return output;
  throw new Error(`"${line}" failed (exit code ${tool.exitCode}):\n${output}`);
}
