import { expect, test } from "vitest";
import { type ClientUnderTest, fenceKey, lockKey, type Tools } from "../adapter-tools.ts";
import { acquireRequest, extendRequest, longMs, releaseRequest } from "../requests.ts";
import { eventually } from "../timing.ts";

/** A guard that outlasts any test. */
const guarded = { restartGuardMs: longMs };
const recovering = /^recovering from a restart, \d+\.\d s left$/;

/** Tests the option `restartGuardMs` after a restart of the server. */
export function restartGuard({ server, connected }: Tools): void {
  test("acquire() with a restart guard rejects after a restart of the server, and leaves nothing behind", async () => {
    const mortal = await server();
    const client = await connected(mortal.port, guarded);
    await mortal.restart();
    await inspectable(client);
    await expect(client.node.acquire(acquireRequest("alice"))).rejects.toThrow(recovering);
    await expect(client.node.acquire(acquireRequest("alice", { takeover: "bob" }))).rejects.toThrow(recovering);
    expect(await mortal.command("EXISTS", lockKey, fenceKey("r"))).toBe(0);
  });

  test("extend() and release() with a restart guard work after a restart of the server, and inspect() reports it", async () => {
    const mortal = await server();
    const client = await connected(mortal.port, guarded);
    await mortal.restart();
    await inspectable(client);
    const { node } = client;
    expect(await node.extend(extendRequest("alice", { fence: 7 }))).toEqual({ held: false, rejoined: false });
    const again = { held: false, rejoined: true };
    expect(await node.extend(extendRequest("alice", { fence: 7, rejoin: true }))).toEqual(again);
    expect(await node.extend(extendRequest("alice", { fence: 8 }))).toEqual(again);
    const { recoveringMs, ...view } = await node.inspect("r");
    expect(view).toMatchObject({ owner: "alice", fence: 8 });
    expect(recoveringMs).toBeGreaterThan(longMs - 60_000);
    expect(recoveringMs).toBeLessThanOrEqual(longMs + 1_000);
    expect(await node.release(releaseRequest("alice"))).toEqual({ released: true });
  });
}

/** Waits until the client has reconnected. */
async function inspectable({ node }: ClientUnderTest): Promise<void> {
  await eventually(() => node.inspect("r"));
}
