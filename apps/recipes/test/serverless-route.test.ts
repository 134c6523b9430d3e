import { expect, test } from "vitest";
import { startChild } from "./child.ts";
import { openTestLocks, startWorld } from "./world.ts";

test("POST() leaves no lock behind when the function is frozen, and goes on with the same instance after the thaw", async () => {
  const world = await startWorld();
  const instance = startChild("serverless-instance", world.lockUrls, world.dataUrl);
  await instance.says(/^ready$/);
  instance.tell("42");
  expect(await instance.says(/^\d/)).toBe('200 null {"invoice":"42","was":"open","is":"closed"}');
  instance.send("SIGSTOP");
  const { redlock } = await openTestLocks(world);
  expect((await redlock.inspect("invoice:42")).state).toBe("free");

  // Connections do not survive a long freeze.
  await Promise.all(world.lockServers.map((server) => server.command("CLIENT", "KILL", "TYPE", "normal")));
  instance.send("SIGCONT");
  instance.tell("42");
  expect(await instance.says(/^\d/)).toBe('200 null {"invoice":"42","was":"closed","is":"closed"}');

  await expect.poll(() => redlock.tryAcquire("invoice:42", { ttlMs: 60_000 })).not.toBeNull();
  instance.tell("42");
  expect(await instance.says(/^\d/)).toMatch(/^503 \d+ \{"error":"busy"\}$/);
});

test("POST() uses the same connections for all requests of an instance", async () => {
  const world = await startWorld();
  const instance = startChild("serverless-instance", world.lockUrls, world.dataUrl);
  for (const invoice of ["1", "2", "3"]) {
    instance.tell(invoice);
    expect(await instance.says(/^\d/)).toMatch(/^200 /);
  }
  for (const server of world.lockServers) {
    expect(String(await server.command("INFO", "clients"))).toContain("connected_clients:2\r\n"); // it, and who asks
  }
});
