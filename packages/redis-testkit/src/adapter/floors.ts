import { EpochError, type LockNode, type ScanPortion } from "@holdfast/core";
import { expect, test } from "vitest";
import { fenceKey, type Tools } from "../adapter-tools.ts";
import { acquireRequest, extendRequest, longMs, releaseRequest } from "../requests.ts";

type FloorNode = LockNode & Required<Pick<LockNode, "raiseFloor" | "scan">>;

/** Tests that a client passes on what operators' tools ask of a node, and the errors of refused clients. */
export function floors({ server, connected }: Tools): void {
  test("raiseFloor() raises the floor and the epoch that acquire() obeys, after SCRIPT FLUSH too", async () => {
    const { port, command } = await server();
    const node = (await connected(port)).node as FloorNode;
    const raise = (floor: number, epoch: number) => node.raiseFloor({ floor, epoch, timeoutMs: longMs });
    await node.acquire(acquireRequest("alice", { resources: ["held"] }));
    expect(await raise(7, 0)).toEqual({ floor: 7, epoch: 0 });
    expect(await node.acquire(acquireRequest("alice"))).toEqual({ granted: true, fence: 8 });
    await command("SCRIPT", "FLUSH");
    expect(await raise(3, 3)).toEqual({ floor: 7, epoch: 3 });
    expect(await node.inspect?.("r")).toMatchObject({ fence: 8 });

    const [old, present] = await Promise.allSettled([
      node.acquire(acquireRequest("old", { resources: ["a"] })),
      node.acquire(acquireRequest("present", { resources: ["b"], epoch: 3 })),
    ]);
    expect(old).toMatchObject({ reason: new EpochError(3, 1) });
    expect(present).toMatchObject({ value: { granted: true, fence: 8 } });
    expect(await node.extend(extendRequest("alice"))).toEqual({ held: true, fence: 8 });
    expect(await node.release(releaseRequest("alice"))).toEqual({ released: true });
  });

  test("scan() reads all counters and claims, with any name; heal and join need no claims", async () => {
    const { port } = await server();
    const node = (await connected(port)).node as FloorNode;
    const resources = ["{a}b", "日本 🔒", "a*", ...Array.from({ length: 500 }, (_, index) => `r${index}`)];
    await Promise.all(
      resources.map((name, index) =>
        node.acquire(acquireRequest(`by ${name}`, { resources: [name], fenceHint: index + 1 })),
      ),
    );
    for (const owner of ["one", "two"]) await node.acquire(acquireRequest(owner, { resources: ["s"], shared: true }));
    const portions: ScanPortion[] = [];
    for (let cursor: string | undefined, isLast = false; !isLast; isLast = cursor === undefined) {
      const portion = await node.scan({ ...(cursor !== undefined && { cursor }), timeoutMs: longMs });
      portions.push(portion);
      cursor = portion.cursor;
    }
    expect(portions.length).toBeGreaterThan(1);
    expect(Math.max(...portions.map(({ highest }) => highest))).toBe(resources.length);
    const claims = portions.flatMap((portion) => portion.claims.map(({ resource, owner }) => `${resource}: ${owner}`));
    expect(new Set(claims)).toEqual(new Set([...resources.map((name) => `${name}: by ${name}`), "s: one", "s: two"]));
    let counters = 0;
    for (let cursor: string | undefined, isLast = false; !isLast; isLast = cursor === undefined) {
      const portion = await node.scan({ ...(cursor !== undefined && { cursor }), claims: false, timeoutMs: longMs });
      counters += portion.counters;
      cursor = portion.cursor;
      expect(portion.claims).toEqual([]);
    }
    expect(counters).toBe(new Set([...resources, "s"].map(fenceKey)).size);
  });

  test("raiseFloor() and scan() reject on a replica", async () => {
    const [replica, master] = [await server(), await server()];
    const node = (await connected(replica.port)).node as FloorNode;
    await replica.command("REPLICAOF", "127.0.0.1", master.port);
    const raised = node.raiseFloor({ floor: 7, epoch: 0, timeoutMs: longMs });
    await expect(raised).rejects.toThrow("the server is a replica");
    await expect(node.scan({ timeoutMs: longMs })).rejects.toThrow("the server is a replica");
  });
}
