import { expect, test } from "vitest";
import { expectNeverClaimed, lockKey, type Tools, warmUp } from "../adapter-tools.ts";
import { acquireRequest, extendRequest, longMs, releaseRequest } from "../requests.ts";
import { ignore, pass, shortMs } from "../timing.ts";

/** Makes the first claim the first command. Otherwise the identification of the server would load the script before. */
const unverified = { verifyServer: false };

/** Tests operations while the server hangs. Some clients drop a command that timed out without waiting for the reply. */
export function hangingServer({ server, connected }: Tools): void {
  test("release() undoes an acquire that a hanging server executes late", async () => {
    const hanging = await server();
    const client = await connected(hanging.port);
    await warmUp(client);
    hanging.pause();
    ignore(client.node.acquire(acquireRequest("alice", { timeoutMs: shortMs })));
    await pass(shortMs);
    const released = client.node.release(releaseRequest("alice"));
    hanging.resume();
    await released;
    expect(await hanging.command("EXISTS", lockKey)).toBe(0);
  });

  test("release() is sent, but acquire() is not, when the hanging server has not loaded the script", async () => {
    const hanging = await server();
    const client = await connected(hanging.port, unverified);
    hanging.pause();
    const acquired = client.node.acquire(acquireRequest("alice", { timeoutMs: shortMs }));
    ignore(acquired);
    await pass(shortMs);
    const released = client.node.release(releaseRequest("alice"));
    hanging.resume();
    await expect(acquired).rejects.toThrow("timed out");
    expect(await released).toEqual({ released: false });
    await expectNeverClaimed(hanging.command);
  });
}

/** Tests a server that has not loaded the script. */
export function serverWithoutScript({ server, connected }: Tools): void {
  test("every operation works after SCRIPT FLUSH", async () => {
    const forgetful = await server();
    const { node } = await connected(forgetful.port);
    const flush = () => forgetful.command("SCRIPT", "FLUSH");
    await flush();
    expect(await node.acquire(acquireRequest("alice"))).toEqual({ granted: true, fence: 1 });
    await flush();
    expect(await node.extend(extendRequest("alice"))).toEqual({ held: true, fence: 1 });
    await flush();
    expect(await node.inspect("r")).toMatchObject({ owner: "alice", fence: 1 });
    await flush();
    expect(await node.release(releaseRequest("alice"))).toEqual({ released: true });
    await flush();
    expect(await node.raiseFloor({ floor: 7, epoch: 0, timeoutMs: longMs })).toEqual({ floor: 7, epoch: 0 });
    await flush();
    const claims = ["a", "b"].map((name) => node.acquire(acquireRequest(name, { resources: [name] })));
    expect(await Promise.all(claims)).toEqual([8, 8].map((fence) => ({ granted: true, fence })));
  });
}
