import type { FencedStore, FencedStoreOptions } from "@holdfast/redis";
import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { comeBack, disconnect, type Tools } from "../adapter-tools.ts";
import { eventually, shortMs } from "../timing.ts";

const everyByte = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

/** Tests a store without faults. */
export function fencedReadsAndWrites({ connected }: Tools): void {
  let server: RedisServer;
  let keys = 0;
  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server.stop());
  const open = async (options?: FencedStoreOptions): Promise<{ store: FencedStore; key: string }> => {
    keys += 1;
    return { store: (await connected(server.port)).openStore(options), key: `key ${keys}` };
  };

  test.each<[string, string | Uint8Array]>([
    ["text", "Grüße, 世界 🔒\u0000\r\n"],
    ["an empty string", ""],
    ["every byte", everyByte],
    ["a view of an array", new Uint8Array(everyByte.buffer, everyByte.byteOffset + 128, 16)],
    ["a megabyte", Buffer.alloc(1_048_576, everyByte)],
  ])("read() returns the value of write(), byte for byte: %s", async (_, value) => {
    const { store, key } = await open();
    expect(await store.write(key, value, 7)).toBeUndefined();
    const found = await store.read(key, 8);
    expect(found.fence).toBe(7);
    expect(found.value?.equals(Buffer.from(value))).toBe(true);
  });

  test("read() of a missing key returns null, and makes the key reject older writers", async () => {
    const { store, key } = await open();
    expect(await store.read(key, 8)).toEqual({ value: null, fence: 0 });
    const refusal = { name: "StaleFenceError", code: "STALE_FENCE", key, fence: 7, newestFence: 8 };
    await expect(store.write(key, "late", 7)).rejects.toMatchObject(refusal);
    await expect(store.delete(key, 7)).rejects.toThrow(
      `could not delete ${key} with fence 7: the key has already seen fence 8`,
    );
    for (const fence of [7, 8]) expect(await store.read(key, fence)).toEqual({ value: null, fence: 0 });
  });

  test("write() copies the bytes, so that later changes of the array have no effect", async () => {
    const { store, key } = await open();
    const value = Buffer.from("value");
    await server.command("SCRIPT", "FLUSH"); // so that the script is sent twice
    const written = store.write(key, value, 7);
    value.fill("-");
    await written;
    expect(String((await store.read(key, 7)).value)).toBe("value");
  });

  test("every call works after SCRIPT FLUSH", async () => {
    const { store, key } = await open();
    const flush = () => server.command("SCRIPT", "FLUSH");
    await flush();
    await store.write(key, "value", 7);
    await flush();
    expect(await store.read(key, 8)).toEqual({ value: Buffer.from("value"), fence: 7 });
    await flush();
    expect(await store.delete(key, 8)).toBe(true);
  });

  test("write() rejects with the server's message, without the value", async () => {
    const { store, key } = await open();
    await server.command("SET", key, "something else");
    const error = await store.write(key, "the secret", 7).catch((reason: Error) => reason);
    expect(error).toMatchObject({ message: expect.stringMatching(`^could not write ${key}: .*WRONGTYPE`) });
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain("secret");
    expect(await server.command("GET", key)).toBe("something else");
  });
}

/** Tests a store whose server does not answer. */
export function fencedDeadlines({ server, connected }: Tools): void {
  test("read() and write() reject with a StoreTimeoutError when the server hangs", async () => {
    const hanging = await server();
    const client = await connected(hanging.port);
    const store = client.openStore({ timeoutMs: shortMs });
    await eventually(() => store.write("key", "value", 7));
    hanging.pause();
    const timeout = { name: "StoreTimeoutError", code: "STORE_TIMEOUT", key: "key" };
    const calls = [store.read("key", 8), store.write("key", "late", 8)];
    await expect(calls[0]).rejects.toMatchObject({
      ...timeout,
      message: `could not read key: no reply within ${shortMs} ms`,
    });
    await expect(calls[1]).rejects.toMatchObject({
      ...timeout,
      message: expect.stringContaining("may not have taken effect"),
    });
    hanging.resume();
    await eventually(() => store.write("key", "later", 9));
    expect(await client.openStore().read("key", 9)).toEqual({ value: Buffer.from("later"), fence: 9 });
  });
}

/** Tests a store whose client reports the state of its connection. */
export function fencedConnections({ behindProxy, client: connecting, proxy, server }: Tools): void {
  test("write() waits for a client that connects for the first time, until timeoutMs, and is not sent later", async () => {
    const redis = await server();
    const network = await proxy(redis);
    await connecting(network.port).openStore().write("key", "value", 7);
    network.stall();
    const client = connecting(network.port);
    const late = client.openStore({ timeoutMs: shortMs }).write("key", "late", 8);
    await expect(late).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    await network.start();
    await comeBack(client);
    expect(await client.openStore().read("key", 7)).toEqual({ value: Buffer.from("value"), fence: 7 });
  });

  test("write() rejects immediately while the client is not connected, and is not sent later", async () => {
    const { command, network, client } = await behindProxy();
    const store = client.openStore();
    await disconnect(network, client);
    await expect(store.write("key", "value", 7)).rejects.toThrow("could not write key: the client is not connected");
    await network.start();
    await comeBack(client);
    expect(await command("EXISTS", "key")).toBe(0);
  });

  test("write() that the client has not sent by timeoutMs is not sent later", async () => {
    const { command, network, client } = await behindProxy();
    const store = client.openStore({ timeoutMs: shortMs });
    await client.openStore().write("another", "value", 7); // the server has the script from now on
    network.stall("requests");
    client.flood("x".repeat(32 * 1024 * 1024));
    await expect(store.write("key", "value", 7)).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    const isBack = new Promise<void>((resolve) => client.onReady(resolve));
    network.cut();
    await network.start();
    await isBack;
    await comeBack(client);
    expect(await command("EXISTS", "key")).toBe(0);
  });
}
