import { lockNames } from "@holdfast/redis";
import type { RedisServer } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { comeBack, fenceKey, type Tools, warmUp } from "../adapter-tools.ts";
import { acquireRequest, extendRequest, longMs, releaseRequest } from "../requests.ts";
import { eventually, ignore, pass, shortMs } from "../timing.ts";

/** The limit of resources in the operations of one call. */
const callMax = 64;

const names = Array.from({ length: 100 }, (_, i) => `r${i}`);
const callsForNames = Math.ceil(names.length / callMax);
const granted = { granted: true, fence: 1 };

/** Tests operations that start in the same tick. */
export function batches({ server, connected }: Tools): void {
  test("operations of one tick share one call, and each gets its own reply", async () => {
    const { port, command } = await server();
    const client = await connected(port);
    const { node } = client;
    await warmUp(client);
    await node.acquire(acquireRequest("bob", { resources: ["held"] }));
    await node.acquire(acquireRequest("bob", { resources: ["kept"] }));
    await command("CONFIG", "RESETSTAT");
    const answers = await Promise.all([
      node.acquire(acquireRequest("alice", { resources: ["a", "b", "c"], fenceHint: 7, ttlMs: 5_000 })),
      node.acquire(acquireRequest("carol", { resources: ["held"] })),
      node.extend(extendRequest("bob", { resources: ["held"], fence: 9, ttlMs: longMs * 2 })),
      node.inspect("a"),
      node.acquire(acquireRequest("dave", { resources: ["b"] })),
      node.extend(extendRequest("dave", { resources: ["d", "e"], rejoin: true })),
      node.acquire(acquireRequest("erin", { resources: ["held"], takeover: "bob" })),
      node.acquire(acquireRequest("frank", { resources: ["kept"] })),
      node.release(releaseRequest("nobody", ["a", "held"])),
    ]);
    expect(answers).toEqual([
      { granted: true, fence: 7 },
      { granted: false, retryAfterMs: expect.any(Number) },
      { held: true, fence: 9 },
      { owner: "alice", remainingMs: expect.any(Number), fence: 7 },
      { granted: false, retryAfterMs: expect.any(Number) },
      { held: false, rejoined: true },
      { granted: true, fence: 10 },
      { granted: false, retryAfterMs: expect.any(Number) },
      { released: false },
    ]);
    expect(await callsOf(command)).toEqual({ evalsha: 1, eval: 0 });
    expect(await command("PTTL", "lock:a")).toBeLessThanOrEqual(5_000);
    expect(await command("PTTL", "lock:d")).toBeGreaterThan(longMs - 60_000);
  });

  test("each operation has its own waiter, whatever follows it in the call", async () => {
    const { port, command } = await server();
    const client = await connected(port);
    const { node } = client;
    await warmUp(client);
    for (const name of ["a", "b", "c"]) await node.acquire(acquireRequest("alice", { resources: [name] }));
    await command("CONFIG", "RESETSTAT");
    const answers = await Promise.all([
      node.acquire(acquireRequest("bob", { resources: ["a"], waiter: "B" })),
      node.acquire(acquireRequest("carol", { resources: ["b"] })),
      node.release({ ...releaseRequest("alice", ["a"]), waiter: "A" }),
      node.release(releaseRequest("alice", ["b"])),
      node.acquire(acquireRequest("dave", { resources: ["c"] })),
      node.acquire(acquireRequest("erin", { resources: ["d", "e"], waiter: "E" })),
      node.extend(extendRequest("alice", { resources: ["c"], fence: 5 })),
      node.inspect("c"),
    ]);
    expect(answers).toMatchObject([
      { granted: false },
      { granted: false },
      { released: true, next: "B" },
      { released: true },
      { granted: false },
      { granted: true },
      { held: true, fence: 5 },
      { owner: "alice", fence: 5 },
    ]);
    expect(answers[3]).toEqual({ released: true });
    expect(await callsOf(command)).toEqual({ evalsha: 1, eval: 0 });
    expect(await command("KEYS", "holdfast:line:*")).toEqual([lockNames("lock:", "a").waitingList]);
  });

  test("operations of one tick run in the order of the calls", async () => {
    const { port } = await server();
    const { node } = await connected(port);
    await node.acquire(acquireRequest("alice"));
    const answers = await Promise.all([
      node.acquire(acquireRequest("bob")),
      node.release(releaseRequest("alice")),
      node.acquire(acquireRequest("carol")),
      node.inspect("r"),
    ]);
    expect(answers).toMatchObject([{ granted: false }, { released: true }, { granted: true }, { owner: "carol" }]);
  });

  test("acquire() released in the same tick claims nothing, and rejects", async () => {
    const { port, command } = await server();
    const { node } = await connected(port);
    const claim = node.acquire(acquireRequest("alice"));
    const released = node.release(releaseRequest("alice"));
    await expect(claim).rejects.toThrow("timed out before it was sent");
    expect(await released).toEqual({ released: false });
    expect(await command("EXISTS", "lock:r", fenceKey("r"))).toBe(0);
  });

  test("operations share calls of at most 64 resources; an operation with more has its own call", async () => {
    const { port, command } = await server();
    const client = await connected(port);
    const claim = (owner: string, resources: string[]) => client.node.acquire(acquireRequest(owner, { resources }));
    const claimEach = (count: number) => Array.from({ length: count }, (_, i) => claim(`owner ${i}`, [`r${i}`]));
    const callsFor = async (claims: () => Promise<unknown>[]): Promise<number> => {
      await command("FLUSHALL");
      await command("CONFIG", "RESETSTAT");
      for (const answer of await Promise.all(claims())) expect(answer).toEqual(granted);
      return (await callsOf(command)).evalsha;
    };
    await warmUp(client);
    expect(await callsFor(() => claimEach(callMax))).toBe(1);
    expect(await callsFor(() => claimEach(callMax + 1))).toBe(2);
    const fewer = names.slice(0, callMax - 2);
    expect(await callsFor(() => [claim("alice", fewer), claim("bob", ["x", "y"])])).toBe(1);
    expect(await callsFor(() => [claim("alice", fewer), claim("bob", ["x", "y", "z"])])).toBe(2);
    expect(await callsFor(() => [claim("bob", ["x"]), claim("alice", names), claim("carol", ["y"])])).toBe(3);
  });

  test("each of several operations rejects with its own error", async () => {
    const { port, command } = await server();
    const client = await connected(port);
    const { node } = client;
    await command("RPUSH", "lock:list", "not a lock");
    await command("SET", fenceKey("broken"), "not a counter");
    await warmUp(client);
    await command("CONFIG", "RESETSTAT");
    const [a, list, broken, b] = await Promise.allSettled([
      node.acquire(acquireRequest("alice", { resources: ["a"] })),
      node.acquire(acquireRequest("alice", { resources: ["list"] })),
      node.inspect("broken"),
      node.acquire(acquireRequest("bob", { resources: ["b", "c"] })),
    ]);
    expect(a).toMatchObject({ value: granted });
    expect(list).toMatchObject({ reason: { message: expect.stringContaining("(the key lock:list)") } });
    expect(broken).toMatchObject({ reason: { message: expect.stringContaining("is not a safe integer") } });
    expect(b).toMatchObject({ value: granted });
    expect(await callsOf(command)).toEqual({ evalsha: 1, eval: 0 });
  });

  test("a server that is out of memory refuses the claims of a tick, but not the releases after them", async () => {
    const { port, command } = await server();
    const { node } = await connected(port);
    await node.acquire(acquireRequest("alice"));
    await command("CONFIG", "SET", "maxmemory", "1");
    const [claimed, released] = await Promise.allSettled([
      node.acquire(acquireRequest("bob", { resources: ["s"] })),
      node.release(releaseRequest("alice")),
    ]);
    expect(claimed).toMatchObject({ reason: { message: expect.stringContaining("OOM") } });
    expect(released).toMatchObject({ value: { released: true } });
    expect(await command("EXISTS", "lock:r", "lock:s")).toBe(0);
  });

  test("a key that the user must not access fails only its own operation", async () => {
    const { port, command } = await server();
    const { node } = await connected(port);
    await node.acquire(acquireRequest("alice"));
    await command(
      "ACL",
      "SETUSER",
      "default",
      "resetkeys",
      "~lock:r*",
      "~holdfast:fence:*}lock:",
      "~holdfast:*}lock:r*",
    );
    const [before, secret, released, after] = await Promise.allSettled([
      node.acquire(acquireRequest("bob", { resources: ["r1"] })),
      node.acquire(acquireRequest("bob", { resources: ["secret"] })),
      node.release(releaseRequest("alice")),
      node.acquire(acquireRequest("carol", { resources: ["r2", "r3"] })),
    ]);
    expect(before).toMatchObject({ value: granted });
    expect(secret).toMatchObject({ reason: { message: expect.stringContaining("NOPERM") } });
    expect(released).toMatchObject({ value: { released: true } });
    expect(after).toMatchObject({ value: granted });
  });

  test("keys of several slots on one cluster server fail no operation whose own keys share a slot", async () => {
    const { port, command } = await server({ args: ["--cluster-enabled", "yes"] });
    const slots = [0, 16383];
    await command("CLUSTER", "ADDSLOTSRANGE", ...slots);
    await eventually(async () => expect(await command("CLUSTER", "INFO")).toContain("cluster_state:ok"));
    const { node } = await connected(port);
    const claims = ["a", "b"].map((tag) => node.acquire(acquireRequest(tag, { resources: [`{${tag}}`] })));
    for (const answer of await Promise.all(claims)) expect(answer).toEqual(granted);
  });

  test("a server that refuses everything gets one call per tick", async () => {
    const { port, command } = await server();
    const client = await connected(port);
    await warmUp(client);
    await command("CONFIG", "SET", "replica-serve-stale-data", "no");
    await command("REPLICAOF", "127.0.0.1", port);
    await command("CONFIG", "RESETSTAT");
    const claims = names
      .slice(0, callMax)
      .map((name) => client.node.acquire(acquireRequest(name, { resources: [name] })));
    for (const outcome of await Promise.allSettled(claims)) {
      expect(outcome).toMatchObject({ reason: { message: expect.stringContaining("MASTERDOWN") } });
    }
    expect(await callsOf(command)).toEqual({ evalsha: 1, eval: 0 });
  });

  test("every operation of a tick works after SCRIPT FLUSH", async () => {
    const { port, command } = await server();
    const client = await connected(port);
    await warmUp(client);
    await command("SCRIPT", "FLUSH");
    await command("CONFIG", "RESETSTAT");
    const claims = names.map((name) => client.node.acquire(acquireRequest(name, { resources: [name] })));
    for (const answer of await Promise.all(claims)) expect(answer).toEqual(granted);
    expect(await callsOf(command)).toEqual({ evalsha: callsForNames, eval: callsForNames });
  });
}

/** Tests batches for a server that hangs or goes down. */
export function batchesWithoutAnswer(tools: Tools): void {
  const { server, connected } = tools;
  test("abandoned claims of a tick are not resent when the server is back", async () => {
    const hanging = await server();
    const client = await connected(hanging.port);
    await warmUp(client);
    hanging.pause();
    for (const name of names)
      ignore(client.node.acquire(acquireRequest(name, { resources: [name], timeoutMs: shortMs })));
    await pass(shortMs);
    await hanging.restart();
    await comeBack(client);
    await eventually(async () => expect(await hanging.command("KEYS", "lock:r*")).toEqual([]));
  });

  test("release() of one of the claims of a tick prevents its resending", async () => {
    const { command } = await releaseOneOfTwo(tools);
    expect(await command("EXISTS", "lock:alice", fenceKey("alice"))).toBe(0);
  });

  test("a node whose server hangs does not block another node in the same tick", async () => {
    const [hanging, sound] = [await server(), await server()];
    const nodes = [(await connected(hanging.port)).node, (await connected(sound.port)).node] as const;
    for (const node of nodes) await node.acquire(acquireRequest("first", { resources: ["first"] }));
    hanging.pause();
    const request = acquireRequest("alice", { timeoutMs: longMs });
    ignore(nodes[0].acquire(request));
    expect(await nodes[1].acquire(request)).toEqual(granted);
    hanging.resume();
  });
}

/**
 * Claims "alice" and "bob" in one tick, releases "alice", and then cuts and restores the stalled connection.
 *
 * @returns the server
 */
export async function releaseOneOfTwo({ server, proxy, connected }: Tools): Promise<RedisServer> {
  const redis = await server();
  const network = await proxy(redis);
  const client = await connected(network.port);
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

/** Returns how often the script was called. */
async function callsOf(command: RedisServer["command"]): Promise<{ evalsha: number; eval: number }> {
  const stats = String(await command("INFO", "commandstats"));
  const calls = (name: string) => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
  return { evalsha: calls("evalsha"), eval: calls("eval") };
}
