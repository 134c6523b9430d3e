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
    /** Retries after a 503. */
    async answer(invoice: string): Promise<string> {
      for (;;) {
        const answer = await request(invoice);
        if (!answer.startsWith("503")) return answer;
      }
    },
    freeze: () => instance.send("SIGSTOP"),
    thaw: () => instance.send("SIGCONT"),
  };
}

test("POST() leaves no lock behind when the function is frozen, and continues in the same instance after the thaw", async () => {
  const world = await startWorld();
  const instance = await startInstance(world);
  expect(await instance.answer("42")).toBe('200 null {"invoice":"42","was":"open","is":"closed"}');
  instance.freeze();
  const { redlock } = await openTestLocks(world);
  expect((await redlock.inspect("invoice:42")).state).toBe("free");

  // Connections do not survive a long freeze.
  await Promise.all(world.lockServers.map((server) => server.command("CLIENT", "KILL", "TYPE", "normal")));
  instance.thaw();
  expect(await instance.answer("42")).toBe('200 null {"invoice":"42","was":"closed","is":"closed"}');
});

test("POST() replies 503 with a Retry-After while another client holds the lock", async () => {
  const world = await startWorld();
  const { redlock } = await openTestLocks(world);
  await redlock.acquire("invoice:42", { ttlMs: 60_000 });
  expect(await (await startInstance(world)).request("42")).toMatch(/^503 \d+ \{"error":"busy"\}$/);
});

test("POST() uses the same connections for all requests of an instance", async () => {
  const world = await startWorld();
  const instance = await startInstance(world);
  for (const invoice of ["1", "2", "3"]) expect(await instance.answer(invoice)).toMatch(/^200 /);
  for (const server of world.lockServers) {
    expect(String(await server.command("INFO", "clients"))).toContain("connected_clients:2\r\n"); // the instance, and this command
  }
});
