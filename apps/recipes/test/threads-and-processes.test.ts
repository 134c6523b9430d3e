import { runProgram } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { app, builtProgram } from "./programs.ts";
import { startWorld } from "./world.ts";

test("two processes with two threads each lose none of the counts that nothing but the lock protects", async () => {
  const world = await startWorld();
  const env = { LOCK_SERVERS: world.lockUrls, DATA_SERVER: world.dataUrl };
  const { code, out, err } = await runProgram(builtProgram("threads-and-processes"), [], { cwd: app, env });
  expect(err).toBe("");
  expect(out).toBe("2 processes with 2 threads each counted to 100\n");
  expect(code).toBe(0);
  expect(await world.locksLeft()).toEqual([]);
});
