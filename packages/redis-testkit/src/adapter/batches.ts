import type { RedisServer } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { comeBack, fenceKey, type Tools, warmUp } from "../adapter-tools.ts";
import { acquireRequest, releaseRequest } from "../requests.ts";
import { ignore } from "../timing.ts";

/** Tests operations that start in the same tick, and share a call. */
export function batches(tools: Tools): void {
  test("acquire() released in the same tick claims nothing, and rejects", async () => {
    const { port, command } = await tools.server();
    const { node } = await tools.connected(port);
    const claim = node.acquire(acquireRequest("alice"));
    const released = node.release(releaseRequest("alice"));
    await expect(claim).rejects.toThrow("timed out before it was sent");
    expect(await released).toEqual({ released: false });
    expect(await command("EXISTS", "lock:r", fenceKey("r"))).toBe(0);
  });

  test("release() of one of the claims of a tick prevents its resending", async () => {
    const { command } = await releaseOneOfTwo(tools);
    expect(await command("EXISTS", "lock:alice", fenceKey("alice"))).toBe(0);
  });
}

/**
 * Claims "alice" and "bob" in one tick, releases "alice", and then cuts and restores the stalled connection.
 *
 * @returns the server
 */
export async function releaseOneOfTwo({ behindProxy }: Tools): Promise<RedisServer> {
  const { redis, network, client } = await behindProxy();
  await warmUp(client);
  network.stall("requests");
  for (const owner of ["alice", "bob"]) ignore(client.node.acquire(acquireRequest(owner, { resources: [owner] })));
  await new Promise(setImmediate);
  const released = client.node.release(releaseRequest("alice", ["alice"]));
  ignore(released);
  await network.refuse();
  network.cut();
  await network.start();
  await comeBack(client);
  await Promise.allSettled([released]);
  return redis;
}
