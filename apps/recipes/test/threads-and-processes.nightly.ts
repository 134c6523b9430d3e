import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { runProgram } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { openTestLocks, startWorld } from "./world.ts";

const program = fileURLToPath(new URL("../src/threads-and-processes.ts", import.meta.url));

test("two processes with two threads each lose no increment of a counter that only the lock protects", async () => {
  const world = await startWorld();
  const { redlock } = openTestLocks(world);
  const [server] = world.lockServers;
  const waiters = async () => {
    const lists = await server?.command("KEYS", "holdfast:line:*}lock:counter");
    return server?.command("ZCARD", String(lists));
  };

  const lock = await redlock.acquire("counter", { autoExtend: true });
  const env = { LOCK_SERVERS: world.lockUrls, DATA_SERVER: world.dataUrl };
  const running = runProgram(program, [], { cwd: tmpdir(), env });
  await expect.poll(waiters).toBe(4); // so that they contend from the first round
  await lock.release();

  const { code, out, err } = await running;
  expect(err).toBe("");
  expect(out).toBe("2 processes with 2 threads each counted to 100\n");
  expect(code).toBe(0);
  expect(await world.locksLeft()).toEqual([]);
});
