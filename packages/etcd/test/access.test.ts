import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { startTcpProxy } from "@holdfast/conformance/tcp-proxy";
import { ConfigurationError, Redlock } from "@holdfast/core";
import { freePort, stall } from "@holdfast/testkit";
import type { EtcdServer } from "@holdfast/testkit/etcd-server";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { etcdNode } from "../src/index.ts";
import { interceptRequests } from "./interception.ts";
import { acquire, extend, node, release, startServer } from "./world.ts";

const secret = "correct horse battery staple";

/** What a client needs to log in after {@link requireLogin}. */
const login = { prefix: "app/", username: "locks", password: secret };

/** Switches authentication on, with a user "locks" that may use the keys of one prefix. */
async function requireLogin({ api }: EtcdServer): Promise<void> {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  await api("auth/user/add", { name: "root", password: "root" });
  await api("auth/user/grant", { user: "root", role: "root" }).catch(async () => {
    await api("auth/role/add", { name: "root" });
    await api("auth/user/grant", { user: "root", role: "root" });
  });
  await api("auth/role/add", { name: "locks" });
  const perm = { permType: "READWRITE", key: base64("app/"), range_end: base64("app0") };
  await api("auth/role/grant", { name: "locks", perm });
  await api("auth/user/add", { name: "locks", password: secret });
  await api("auth/user/grant", { user: "locks", role: "locks" });
  await api("auth/enable");
}

test("acquire() rejects if two nodes of a Redlock are members of one cluster, unless verifyServer is false", async () => {
  const { port } = await startServer();
  const redlockOf = (options: object) =>
    new Redlock(
      ["127.0.0.1", "localhost"].map((host) => etcdNode({ prefix: "app/", endpoints: `${host}:${port}`, ...options })),
      { nodeTimeoutMs: 5_000 },
    );
  const [verifying, careless] = [redlockOf({}), redlockOf({ verifyServer: false })];
  onTestFinished(() => Promise.all([verifying.close(), careless.close()]).then(() => {}));
  for (const _ of ["the first time", "again"]) {
    const acquiring = verifying.acquire("r");
    await expect(acquiring).rejects.toBeInstanceOf(ConfigurationError);
    await expect(acquiring).rejects.toThrow(
      /etcd \S+ failed: it is the same server as etcd \S+ \(id [-0-9a-f]{36} in cluster [0-9a-f]+\)/,
    );
  }
  await (await careless.acquire("r")).release();
});

describe("etcdNode() with a user and a password", () => {
  test("does all that a lock needs in its prefix", async () => {
    const started = await startServer();
    await requireLogin(started);
    const one = node({ endpoints: started.url, ...login });
    const heard = vi.fn();
    await one.watch(["r"], heard);
    expect(await one.acquire(acquire("alice"))).toEqual({ granted: true, fence: 1 });
    expect(await one.extend(extend("alice"))).toEqual({ held: true, fence: 1 });
    expect(await one.inspect("r")).toMatchObject({ owner: "alice" });
    expect(await one.release(release("alice"))).toEqual({ released: true });
    await vi.waitUntil(() => heard.mock.calls.length > 0, 20_000);
  });

  test("logs in again when its token is no longer valid", async () => {
    const started = await startServer();
    await requireLogin(started);
    const one = node({ endpoints: started.url, ...login });
    await one.acquire(acquire("alice"));
    await started.kill();
    await started.restart(); // simple tokens live in memory
    const held = async () => (await one.extend(extend("alice")).catch(() => undefined))?.held === true;
    await vi.waitUntil(held, 20_000);
  });

  test("logs in again when its token has ended, for all calls under way", async () => {
    const started = await startServer({ args: ["--auth-token-ttl", "1"] });
    await requireLogin(started);
    const one = node({ endpoints: started.url, ...login });
    let logins = 0;
    interceptRequests((sent) => {
      if (sent.method === "Authenticate") logins += 1;
      sent.deliver();
    });
    const resources = Array.from({ length: 10 }, (_, index) => `r${index}`);
    for (const each of resources) await one.acquire(acquire("alice", { resources: [each] }));
    // A token that is used lives longer.
    for (let pauseMs = 500; logins < 2; pauseMs += 500) {
      await sleep(pauseMs);
      const replies = await Promise.all(resources.map((each) => one.extend(extend("alice", { resources: [each] }))));
      expect(replies).toEqual(resources.map(() => ({ held: true, fence: 1 })));
    }
    expect(logins).toBe(2);
  });

  test("logs in once authentication is switched on", async () => {
    const started = await startServer();
    const one = node({ endpoints: started.url, ...login });
    expect(await one.acquire(acquire("alice"))).toMatchObject({ granted: true });
    await requireLogin(started);
    expect(await one.extend(extend("alice"))).toMatchObject({ held: true });
  });

  test.each([
    ["a wrong password", { username: "locks", password: "guess" }, "authentication failed", "check username and"],
    ["no user", {}, "user name is empty", "pass username and password"],
    ["a foreign prefix", { username: "locks", password: secret, prefix: "b/" }, "permission denied", "grant the user"],
  ])("acquire() rejects with a ConfigurationError for %s, without the password", async (_, access, reason, advice) => {
    const started = await startServer();
    await requireLogin(started);
    const one = node({ endpoints: started.url, prefix: "app/", ...access });
    const error = await one.acquire(acquire("alice")).catch((thrown: Error) => thrown);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect((error as Error).message).toContain(reason);
    expect((error as Error).message).toContain(advice);
    expect(JSON.stringify(error) + (error as Error).stack).not.toMatch(/guess|correct horse/);
  });
});

describe("etcdNode() over TLS", () => {
  test("locks over https with the authority of the server, also with a certificate of the client", async () => {
    for (const tls of [true, "mutual"] as const) {
      const { tls: endpoint } = await startServer({ tls });
      const { url = "", ca, cert, key } = endpoint ?? {};
      const one = node({ endpoints: url, tls: tls === "mutual" ? { ca, cert, key } : { ca } });
      expect(await one.acquire(acquire("alice"))).toEqual({ granted: true, fence: 1 });
      const bare = node({ endpoints: url.replace("https://", ""), tls: { ca, cert, key } });
      expect(await bare.inspect("r")).toMatchObject({ owner: null });
    }
  });

  test("acquire() rejects with a ConfigurationError that says what to do about a mistake", async () => {
    const { tls, url } = await startServer({ tls: "mutual" });
    const { ca, url: secureUrl = "" } = tls ?? {};
    const of = (options: Parameters<typeof node>[0]) =>
      node(options)
        .acquire(acquire("alice", { timeoutMs: 5_000 }))
        .catch((thrown: Error) => thrown);
    const unknown = await of({ endpoints: secureUrl });
    expect(unknown).toBeInstanceOf(ConfigurationError);
    expect(String(unknown)).toContain("tls.ca");
    const plain = await of({ endpoints: url.replace("http:", "https:") });
    expect(String(plain)).toContain("if it does not use TLS, write http://");
    // A server that does not understand TLS may also reset the connection.
    const resetting = createServer((socket) => socket.once("data", () => socket.resetAndDestroy()));
    await once(resetting.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void resetting.close());
    const { port } = resetting.address() as AddressInfo;
    const reset = await of({ endpoints: `https://127.0.0.1:${port}` });
    expect(String(reset)).toContain("ECONNRESET (if it does not use TLS, write http://)");
    const noCertificate = await of({ endpoints: secureUrl, tls: { ca } });
    expect(noCertificate).toBeInstanceOf(ConfigurationError);
    expect(String(noCertificate)).toContain("tls.key");
    const noTls = await of({ endpoints: secureUrl.replace("https:", "http:") });
    expect(String(noTls)).toContain("if it uses TLS, write https://");
  });
});

describe("etcdNode() over several endpoints", () => {
  test("uses the next one while the first is down, hangs, or is an unknown host", async () => {
    const started = await startServer();
    const hanging = await startTcpProxy({ port: started.port });
    onTestFinished(() => hanging.close());
    hanging.stall();
    for (const dead of [`127.0.0.1:${await freePort()}`, `127.0.0.1:${hanging.port}`, "no-such-host.invalid:2379"]) {
      const one = node({ endpoints: [dead, started.url] });
      expect(await one.acquire(acquire("alice", { timeoutMs: 5_000 })), dead).toEqual({ granted: true, fence: 1 });
      expect(await one.extend(extend("alice"))).toEqual({ held: true, fence: 1 });
      expect(await one.release(release("alice"))).toEqual({ released: true });
    }
  });

  test("acquire() rejects with the reason if none is reachable", async () => {
    const one = node({ endpoints: `http://127.0.0.1:${await freePort()}` });
    await expect(one.acquire(acquire("alice"))).rejects.toThrow("ECONNREFUSED");
    const other = node({ endpoints: "no-such-host.invalid:2379" });
    await expect(other.acquire(acquire("alice"))).rejects.toThrow("no-such-host.invalid");
  });

  test("close() while the server is down leaves nothing that connects once it is back", async () => {
    const started = await startServer();
    const network = await startTcpProxy({ port: started.port });
    onTestFinished(() => network.close());
    await network.stop();
    const one = node({ endpoints: `127.0.0.1:${network.port}` });
    await expect(one.acquire(acquire("alice"))).rejects.toThrow("ECONNREFUSED");
    await one.close();
    await network.start();
    // Another client that lost its connection at the same time is back after the same time.
    const witness = node({ endpoints: `127.0.0.1:${network.port}` });
    for (let round = 0; round < 20; round++) {
      await witness.inspect("r");
      await sleep(50);
    }
    expect(network.connections()).toBe(1);
  });

  test("acquire() replaces a connection that has died without a sign", async () => {
    const started = await startServer();
    const network = await startTcpProxy({ port: started.port });
    onTestFinished(() => network.close());
    const one = node({ endpoints: `127.0.0.1:${network.port}` });
    await one.acquire(acquire("alice"));
    network.halfOpen();
    const held = async () => (await one.extend(extend("alice", { timeoutMs: 200 })).catch(() => undefined))?.held;
    await vi.waitUntil(held, 20_000);
  });
});

describe("etcdNode()", () => {
  test.each([
    [{ endpoints: [] }, "at least one member"],
    [{ endpoints: 5 }, "endpoints must be"],
    [{ endpoints: `http://locks:${secret}@host:2379` }, "pass username and password"],
    [{ endpoints: "ftp://host" }, "each of endpoints must be"],
    [{ endpoints: "http://host/path" }, "each of endpoints must be"],
    [{ endpoints: "http://host", tls: {} }, "write https://"],
    [{ endpoints: "host", username: "locks" }, "must be given together"],
    [{ endpoints: "host", tls: { cert: secret } }, "must be given together"],
    [{ endpoints: "host", tls: { cert: secret, key: secret } }, "must be in PEM format"],
    [{ endpoints: "host", maxTxnOps: 2 }, "maxTxnOps must be at least 3"],
    [{ endpoints: "host", prefx: "a" }, "did you mean prefix"],
  ])("throws for the options %o, and shows no secret", (options, message) => {
    const create = () => etcdNode(options as unknown as Parameters<typeof etcdNode>[0]);
    expect(create).toThrow(message);
    expect(create).not.toThrow(secret);
  });

  test("is named after its first endpoint", () => {
    expect(etcdNode({ endpoints: ["https://a:1", "b"] }).name).toBe("etcd a:1");
    expect(etcdNode({ endpoints: "[::1]" }).name).toBe("etcd [::1]:2379");
    expect(etcdNode({ endpoints: "a", name: "one" }).name).toBe("one");
  });

  test("claims as many resources in one call as --max-txn-ops allows, and names the flag if it is lower", async () => {
    const started = await startServer({ maxTxnOps: 600 });
    const names = Array.from({ length: 299 }, (_, index) => `r${index}`).sort();
    const one = node({ endpoints: started.url, maxTxnOps: 600 });
    expect(await one.acquire(acquire("alice", { resources: names }))).toEqual({
      granted: true,
      fence: 1,
      uniform: true,
    });
    expect(await one.release(release("alice", { resources: names }))).toEqual({ released: true });
    const tooMany = node({ endpoints: started.url, maxTxnOps: 700 });
    const more = Array.from({ length: 300 }, (_, index) => `r${index}`).sort();
    await expect(tooMany.acquire(acquire("bob", { resources: more }))).rejects.toThrow("--max-txn-ops");
    await expect(one.acquire(acquire("bob", { resources: more }))).rejects.toThrow("--max-txn-ops");
  });

  test("acquire() counts a reply that has arrived while the event loop stood still for longer than its timeout", async () => {
    const { url } = await startServer();
    const one = node({ endpoints: url });
    await one.acquire(acquire("alice"));
    await one.release(release("alice"));
    const granted = one.acquire(acquire("bob", { fenceHint: 100, timeoutMs: 500 }));
    await setImmediate(); // the request leaves
    stall(800);
    expect(await granted).toEqual({ granted: true, fence: 100 });
  });
});

describe("list()", () => {
  test("returns what is held under its prefix, page by page", async () => {
    const { url } = await startServer();
    const [one, other] = [node({ endpoints: url, prefix: "a/" }), node({ endpoints: url, prefix: "b/" })];
    const all = async (): Promise<Set<string>> => {
      const resources = new Set<string>();
      for await (const resource of one.list()) resources.add(resource);
      return resources;
    };
    expect(await all()).toEqual(new Set());
    const names = Array.from({ length: 2_040 }, (_, index) => `r${index}`);
    const held = ['\u00e9\ud800"\\', "c/", "~", ...names];
    for (let start = 0; start < held.length; start += 60) {
      const resources = held.slice(start, start + 60).sort();
      await one.acquire({ ...acquire("alice"), resources, ttlMs: 600_000 });
    }
    await one.acquire({ ...acquire("alice"), resources: ["released"] });
    await one.release({ ...release("alice"), resources: ["released"] });
    await other.acquire({ ...acquire("alice"), resources: ["elsewhere"] });
    expect(await all()).toEqual(new Set(held));
  });
});
