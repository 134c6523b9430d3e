import { exec } from "tinyexec";

const verbose = process.argv.includes("--verbose");

/**
 * Runs a command, or a tool from the `node_modules/.bin` of `cwd` and the folders above it. Resolves with what it
 * printed, which is shown at once only with `--verbose`; rejects with it when the command fails.
 */
export async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  const env = { DO_NOT_TRACK: "1", NO_COLOR: "1" };
  const tool = exec(command, args, { nodeOptions: { cwd, env, stdio: ["ignore", "pipe", "pipe"] } });
  let output = "";
  for await (const line of tool) {
    output += `${line}\n`;
    if (verbose) console.log(line);
  }
  if (tool.exitCode === 0) return output;
  throw new Error(`"${[command, ...args].join(" ")}" failed (exit code ${tool.exitCode}):\n${output}`);
}
