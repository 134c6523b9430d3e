import { HoldfastError, Redlock } from "@holdfast/core";
import type { RedisNode } from "@holdfast/redis";
import { describe, expect, test } from "vitest";
import { proxyForTest, serverForTest } from "./adapter-tools.ts";
import { eventually } from "./timing.ts";

/** How to connect to a server, possibly with a wrong option. */
export interface WayToServer {
  readonly port: number;
  readonly password?: string;
  /** Whether the client does not start connecting. */
  readonly isIdle?: boolean;
}

/** Registers the tests that errors explain why a server is unusable, and contain no secrets. */
export function describeReasons(name: string, makeNode: (way: WayToServer) => RedisNode): void {
  const server = (...args: readonly string[]) => serverForTest({ args });

  /** Tries to lock until the error passes the check. */
  async function expectError(way: WayToServer, check: (error: HoldfastError) => void): Promise<void> {
    const redlock = new Redlock([makeNode(way)], { waitTimeoutMs: 0, nodeTimeoutMs: 5_000 });
    await eventually(async () => {
      const error: unknown = await redlock.acquire("r").catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(HoldfastError);
      check(error as HoldfastError);
    });
  }

  describe(`${name} over an unusable server`, { timeout: 30_000 }, () => {
    test("reports that the connection was refused", async () => {
      const { port, stop } = await server();
      await stop();
      await expectError({ port }, ({ message, cause }) => {
        expect(message).toContain(`failed: the client is not connected: connect ECONNREFUSED 127.0.0.1:${port}`);
        expect(cause).toMatchObject({ cause: { code: "ECONNREFUSED" } });
      });
    });

    test.each([
      ["a wrong password", ["--requirepass", "right"], /failed: the client is not connected: WRONGPASS|failed: NOAUTH/],
      [
        "a server that does not support logging in",
        ["--rename-command", "AUTH", "nothing", "--rename-command", "HELLO", "nobody"],
        /^(?!.*still connecting).*(unknown command|NOAUTH|denied|not connected: )/is,
      ],
    ])("reports %s, without showing the password", async (_, args, reason) => {
      const { port } = await server(...args);
      await expectError({ port, password: "s3cr3t" }, (error) => {
        expect(error.message).toMatch(reason);
        for (let each: unknown = error; each instanceof Error; each = each.cause) {
          expect(JSON.stringify(each) + each.stack).not.toContain("s3cr3t");
        }
      });
    });

    test("reports a client that connects only on request", async () => {
      const { port } = await server();
      await expectError({ port, isIdle: true }, ({ message }) =>
        expect(message).toMatch(/failed: the client is not connected: .*call connect\(\) first/),
      );
    });
  });

  describe(`${name} that connects for the first time`, { timeout: 30_000 }, () => {
    test("waits for the connection", async () => {
      const { port, command } = await server();
      const redlock = new Redlock([makeNode({ port })], { nodeTimeoutMs: 5_000 });
      const locks = await Promise.all(["r", "s"].map((resource) => redlock.tryAcquire(resource)));
      expect(locks.map((lock) => lock?.resources)).toEqual([["r"], ["s"]]);
      for (const lock of locks) await lock?.release();
      expect(await command("KEYS", "lock:*")).toEqual([]);
    });

    test("sends no claim that was given up before the connection", async () => {
      const { port, command } = await server();
      const proxy = await proxyForTest({ port });
      proxy.stall();
      const node = makeNode({ port: proxy.port });
      const redlock = new Redlock([node], { waitTimeoutMs: 0, nodeTimeoutMs: 50 });
      await expect(redlock.acquire("r")).rejects.toThrow(/timed out|still connecting/);
      await proxy.start();
      await eventually(() => node.inspect("r"));
      expect(await command("KEYS", "*")).toEqual([]);
    });
  });
}
