import { ioredisFencedStore } from "@holdfast/ioredis";
import { expect, test } from "vitest";
import { startChild } from "./child.ts";
import { openTestLocks, startWorld, type World } from "./world.ts";

/** Starts an instance of the function, as its platform does. */
async function startInstance({ lockUrls, dataUrl }: World) {
  const instance = await startChild("serverless-instance", lockUrls, dataUrl);
  const request = (invoice: string): Promise<string> => {
    instance.tell(invoice);
    return instance.says(/^\d/);
  };
  return {
    request,
    /** Retries after a 423 or 503. */
    async answer(invoice: string): Promise<string> {
      for (;;) {
        const answer = await request(invoice);
        if (!/^(423|503)/.test(answer)) return answer;
      }
    },
    freeze: () => instance.send("SIGSTOP"),
    thaw: () => instance.send("SIGCONT"),
  };
}

test("POST() leaves no lock behind when the function is frozen, and continues in the same instance after the thaw", async () => {
  const world = await startWorld();
  const instance = await startInstance(world);
  expect(await instance.answer("42")).toBe('200 null {"was":"open","is":"closed"}');
  instance.freeze();
  const { redlock } = openTestLocks(world);
  const lock = await redlock.tryAcquire("invoice:42");
  expect(lock).not.toBeNull();
  await lock?.release();

  // Connections do not survive a long freeze.
  await Promise.all(world.lockServers.map((server) => server.command("CLIENT", "KILL", "TYPE", "normal")));
  instance.thaw();
  expect(await instance.answer("42")).toBe('200 null {"was":"closed","is":"closed"}');
});

test("POST() replies 409 if the function is frozen midway, and another client gets the lock meanwhile", async () => {
  const world = await startWorld();
  const instance = await startInstance(world);
  await instance.answer("41"); // connects
  await world.data.call("CLIENT", "PAUSE", "60000", "WRITE");
  const response = instance.request("42");
  await expect.poll(world.locksLeft).toHaveLength(3); // with fewer, it might still have to wait
  instance.freeze();
  await Promise.all(world.lockServers.map((server) => server.command("DEL", "lock:invoice:42"))); // as after its ttl
  const lock = await openTestLocks(world).redlock.acquire("invoice:42");
  await world.data.call("CLIENT", "UNPAUSE");
  await ioredisFencedStore(world.data).read("invoice:42", lock.fence);
  instance.thaw();
  expect(await response).toBe('409 null {"error":"STALE_FENCE"}');
});

test("POST() replies 423 with a Retry-After while another client holds the lock", async () => {
  const world = await startWorld();
  const { redlock } = openTestLocks(world);
  await redlock.acquire("invoice:42", { ttlMs: 60_000 });
  const { request } = await startInstance(world);
  await expect.poll(() => request("42")).toMatch(/^423 \d+ \{"error":"WAIT_TIMEOUT"\}$/);
});

test("POST() uses the same connections for all requests of an instance", async () => {
  const world = await startWorld();
  const instance = await startInstance(world);
  for (const invoice of ["1", "2", "3"]) expect(await instance.answer(invoice)).toMatch(/^200 /);
  for (const server of world.lockServers) {
    expect(String(await server.command("INFO", "clients"))).toContain("connected_clients:2\r\n"); // the instance, and this command
  }
});
