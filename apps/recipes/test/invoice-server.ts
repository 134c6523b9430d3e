import { ioredisFencedStore } from "@holdfast/ioredis";
import { freePort } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { startChild } from "./child.ts";
import { openTestLocks, startWorld } from "./world.ts";

/**
 * Starts a server of the fixture, over three lock servers and one for data. Tests repeat its requests, because on a busy
 * machine the lock servers may not reply within half a second.
 */
async function startServer(name: "express" | "nest") {
  const world = await startWorld();
  const port = await freePort();
  const child = await startChild("server", name, world.lockUrls, world.dataUrl, String(port));
  const at = (path: string) => `http://127.0.0.1:${port}/${path}`;
  const close = async (id: string) => {
    const response = await fetch(at(`invoices/${id}/close`), { method: "POST" });
    return { status: response.status, retryAfter: response.headers.get("retry-after"), body: await response.json() };
  };
  const health = async () => {
    const response = await fetch(at("health"));
    return { status: response.status, body: JSON.stringify(await response.json()) };
  };
  await expect.poll(() => health().catch(String)).toMatchObject({ status: 200 });
  return { world, child, close, health, store: ioredisFencedStore(world.data), locks: openTestLocks(world) };
}

/** Defines the tests that both servers must pass. */
export function testServer(name: "express" | "nest"): void {
  test(`${name} works under the lock, and replies 423 while another client holds it, 409 if the store has seen a newer one`, async () => {
    const { world, close, store, locks } = await startServer(name);
    const first = { status: 200, retryAfter: null, body: { was: "open", is: "closed" } };
    await expect.poll(() => close("42")).toEqual(first);
    const { value, fence } = await store.read("invoice:42", Number.MAX_SAFE_INTEGER);
    expect(String(value)).toBe("closed");
    expect(fence).toBeGreaterThan(0);
    await expect.poll(() => world.locksLeft("invoice:")).toEqual([]);

    await locks.redlock.acquire("invoice:43", { ttlMs: 60_000 });
    const busy = { status: 423, retryAfter: expect.stringMatching(/^(60|[1-5]\d)$/), body: { error: "WAIT_TIMEOUT" } };
    await expect.poll(() => close("43")).toEqual(busy);

    await store.read("invoice:44", Number.MAX_SAFE_INTEGER);
    const refused = { status: 409, retryAfter: null, body: { error: "STALE_FENCE" } };
    await expect.poll(() => close("44")).toEqual(refused);
  });

  test(`${name} replies 503, also to probes, while too few lock servers reply`, async () => {
    const { world, close, health } = await startServer(name);
    await Promise.all(world.lockServers.slice(1).map((server) => server.stop()));
    await expect.poll(health).toMatchObject({ status: 503, body: expect.stringContaining('"reachable":1') });
    expect(await close("42")).toMatchObject({ status: 503, body: { error: "QUORUM_UNREACHABLE" } });
  });

  test(`${name} lets a request finish after a SIGTERM, and leaves no lock behind`, async () => {
    const { world, child, close } = await startServer(name);
    const { data } = world;
    await data.call("CLIENT", "PAUSE", "60000", "WRITE");
    const response = close("42");
    await expect.poll(() => world.locksLeft("invoice:")).not.toEqual([]);
    child.send("SIGTERM");
    await child.says(/^SIGTERM/);
    await data.call("CLIENT", "UNPAUSE");
    expect(await response).toMatchObject({ status: 200 });
    expect(await child.ended).toBe(name === "nest" ? null : 0); // Nest ends the process by the same signal
    expect(await world.locksLeft()).toEqual([]);
  });
}
