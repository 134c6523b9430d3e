import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { bundleProgram } from "../src/bundle-program.ts";
import { type RedisServerOptions, startRedisServer } from "../src/index.ts";

async function start(options?: RedisServerOptions) {
  const server = await startRedisServer(options);
  onTestFinished(() => server.stop());
  return server;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("startRedisServer()", () => {
  test("names the package to install when the program is missing", async () => {
    await expect(startRedisServer({ binary: "no-such-program" })).rejects.toThrow(
      /install Redis 7 or later.*redis-server/,
    );
  });

  test("shows the output of a server that does not start", async () => {
    await expect(startRedisServer({ args: ["--no-such-option", "1"] })).rejects.toThrow("Bad directive");
  });

  test("restart() changes the arguments for later restarts too", async () => {
    const server = await start({ args: ["--timeout", "7"] });
    const timeout = () => server.command("CONFIG", "GET", "timeout");
    expect(await timeout()).toEqual(["timeout", "7"]);
    await server.restart(["--timeout", "9"]);
    expect(await timeout()).toEqual(["timeout", "9"]);
    await server.restart();
    expect(await timeout()).toEqual(["timeout", "9"]);
  });

  test("stop() leaves no process and no files behind, even if the server is paused, and can be called again", async () => {
    const server = await start();
    const { pid } = server;
    const directory = ((await server.command("CONFIG", "GET", "dir")) as string[])[1] as string;
    expect(existsSync(directory)).toBe(true);
    server.pause();
    await server.stop();
    await server.stop();
    expect(isAlive(pid)).toBe(false);
    expect(existsSync(directory)).toBe(false);
  });
});

describe("a test process that ends", () => {
  test("stops its servers and removes their files, even if it is killed", { timeout: 60_000 }, async () => {
    const program = await bundleProgram(new URL("./fixtures/abandoned-server.ts", import.meta.url));
    const child = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const { pid, directory } = JSON.parse(String(line)) as { pid: number; directory: string };
    expect([isAlive(pid), existsSync(directory)]).toEqual([true, true]);
    child.kill("SIGKILL");
    await expect.poll(() => [isAlive(pid), existsSync(directory)], { timeout: 10_000 }).toEqual([false, false]);
  });
});
