import { fileURLToPath } from "node:url";
import { exec } from "tinyexec";
import { run } from "./run.ts";
import { scripts } from "./workspace.ts";

const installer = fileURLToPath(new URL("./install-redis-server.sh", import.meta.url));

/** Sees to it that tests find `redis-server`; installs it where that needs no questions asked. */
export async function ensureRedisServer(): Promise<void> {
  if (await succeeds("redis-server", "--version")) return;
  const command = await installCommand();
  if (command) {
    console.log("redis-server is missing: installing it with apt-get …");
    await run(command[0], command.slice(1), scripts);
    if (await succeeds("redis-server", "--version")) return;
  }
  throw new Error(
    [
      "The tests start Redis servers of their own, and redis-server (7 or newer) is not on the PATH. Please install it:",
      "  Debian, Ubuntu  sudo apt-get install redis-server",
      "  macOS           brew install redis",
      "  other systems   the package of your system that brings redis-server",
    ].join("\n"),
  );
}

/** How to install without a password prompt, if there is a way. */
async function installCommand(): Promise<[string, ...string[]] | undefined> {
  if (!(await succeeds("apt-get", "--version"))) return undefined;
  if (process.getuid?.() === 0) return ["sh", installer];
  if (await succeeds("sudo", "-n", "true")) return ["sudo", "-n", "sh", installer];
  return undefined;
}

async function succeeds(command: string, ...args: string[]): Promise<boolean> {
  try {
    return (await exec(command, args)).exitCode === 0;
  } catch {
    return false; // there is no such command
  }
}
