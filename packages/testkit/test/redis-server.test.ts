import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { connect as connectByTls } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import { bundleProgram } from "../src/bundle-program.ts";
import { type RedisServerOptions, startRedisServer, type TlsEndpoint } from "../src/index.ts";

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
  test("starts a server that answers on its own port", async () => {
    const [one, other] = [await start(), await start()];
    expect(one.port).not.toBe(other.port);
    expect(one.url).toBe(`redis://127.0.0.1:${one.port}`);
    expect(await one.command("SET", "name", "é", "PX", 60_000)).toBe("OK");
    expect(await one.command("MGET", "name", "none")).toEqual(["é", null]);
    expect(await other.command("DBSIZE")).toBe(0);
    await expect(one.command("INCR", "name")).rejects.toThrow("ERR value is not an integer");
  });

  test("listens on a Unix socket and, with the option tls, on a TLS port with a certificate for 127.0.0.1", async () => {
    const { socketPath, tls } = await start({ tls: true });
    const { port, ca } = tls as TlsEndpoint;
    for (const socket of [connect(socketPath), connectByTls({ host: "127.0.0.1", port, ca })]) {
      socket.write("PING\r\n");
      expect(String(await once(socket, "data"))).toBe("+PONG\r\n");
      socket.destroy();
    }
    expect((await start()).tls).toBeUndefined();
  });

  test("names the package to install when the program is missing", async () => {
    await expect(startRedisServer({ binary: "no-such-program" })).rejects.toThrow(
      /install Redis 7 or later.*redis-server/,
    );
  });

  test("shows the output of a server that does not start", async () => {
    await expect(startRedisServer({ args: ["--no-such-option", "1"] })).rejects.toThrow("Bad directive");
  });

  test("pause() delays the reply to a command until resume()", async () => {
    const server = await start();
    server.pause();
    let answered = false;
    const reply = server.command("PING").then((pong) => {
      answered = true;
      return pong;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(answered).toBe(false);
    server.resume();
    expect(await reply).toBe("PONG");
  });

  test("restart() keeps the port, and keeps the data only with appendonly", async () => {
    for (const appendonly of [false, true]) {
      const server = await start({ appendonly });
      const { port, pid } = server;
      await server.command("SET", "key", "value");
      await server.kill();
      await expect(server.command("PING")).rejects.toThrow("ECONNREFUSED");
      await server.restart();
      expect(server.port).toBe(port);
      expect(server.pid).not.toBe(pid);
      await expect.poll(() => server.command("GET", "key").catch(() => "loading")).toBe(appendonly ? "value" : null);
    }
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
