import { allow, fencedPermissions, user } from "@holdfast/redis-testkit/permissions";
import { eventually } from "@holdfast/redis-testkit/timing";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type FencedConnection, type FencedStore, type FencedStoreOptions, fencedStore } from "../src/index.ts";
import { clientOf, fencedConnectionOver, startBench } from "./connection.ts";

const { server, client } = await startBench();
const { command } = server;
const open = (options?: FencedStoreOptions): FencedStore => fencedStore(fencedConnectionOver(client), options);
const store = open();
const dayMs = 86_400_000;
const permissions = await fencedPermissions();

describe("fencedStore() keeps", () => {
  test("a value without a ttl, and its token, forever", async () => {
    await store.write("key", "value", 7);
    await store.read("key", 8);
    expect(await command("PTTL", "key")).toBe(-1);
  });

  test("a value for its ttl, and its token for fenceTtlMs longer", async () => {
    await store.write("key", "value", 7, { ttlMs: 50 });
    expect(await command("PTTL", "key")).toBeGreaterThan(dayMs - 60_000);
    await eventually(async () => expect(await store.read("key", 8)).toEqual({ value: null, fence: 7 }));
    expect(await command("HEXISTS", "key", "value")).toBe(0);
    await expect(store.write("key", "late", 7)).rejects.toMatchObject({ newestFence: 8 });
    expect(await store.delete("key", 8)).toBe(false);
  });

  test("a value for the ttl of the last write", async () => {
    await store.write("key", "short", 7, { ttlMs: 600_000 });
    await store.read("key", 7);
    expect(await command("PTTL", "key")).toBeGreaterThan(dayMs);
    await store.write("key", "long", 7);
    expect(await command("PTTL", "key")).toBe(-1);
    expect(await command("HKEYS", "key")).not.toContain("until");
    await store.write("key", "short", 7, { ttlMs: 600_000 });
    expect(String((await store.read("key", 7)).value)).toBe("short");
    await store.delete("key", 7);
    expect(await command("HKEYS", "key")).toEqual(["fence", "by"]);
  });

  test.each([
    ["a day by default", undefined, dayMs],
    ["fenceTtlMs", 5_000, 5_000],
  ])("the token of a key without a value for %s", async (_, fenceTtlMs, lifeMs) => {
    const fleeting = open(fenceTtlMs ? { fenceTtlMs } : {});
    for (const use of [() => fleeting.read("key", 7), () => fleeting.delete("key", 8)]) {
      await use();
      const leftMs = Number(await command("PTTL", "key"));
      expect(leftMs).toBeGreaterThan(0);
      expect(leftMs).toBeLessThanOrEqual(lifeMs);
    }
  });

  test("the expiry and the token of a newer reader than the last", async () => {
    await store.write("key", "value", 5, { ttlMs: 600_000 });
    await store.read("key", 8);
    await store.read("key", 7);
    expect(await command("PTTL", "key")).toBeGreaterThan(dayMs);
    expect(await command("HMGET", "key", "fence", "by")).toEqual(["8", "5"]);
  });

  test("every token forever with fenceTtlMs: Infinity", async () => {
    const faithful = open({ fenceTtlMs: Infinity });
    await faithful.write("key", "value", 7, { ttlMs: 1 });
    expect(await command("PTTL", "key")).toBe(-1);
    await faithful.delete("key", 8);
    expect(await command("PTTL", "key")).toBe(-1);
  });
});

describe("fencedStore() refuses", () => {
  test("a foreign hash, and a token that is not an integer, and changes neither", async () => {
    await command("HSET", "foreign", "name", "Ada");
    await expect(store.read("foreign", 7)).rejects.toThrow("the hash foreign was not made by a fenced store");
    await expect(store.write("foreign", "value", 7)).rejects.toThrow("could not write foreign: ERR the hash");
    expect(await command("HGETALL", "foreign")).toEqual(["name", "Ada"]);
    await command("HSET", "broken", "fence", "many");
    await expect(store.write("broken", "value", 7)).rejects.toThrow("the token of broken is not an integer");
  });

  test("to write when the server is out of memory, and changes nothing", async () => {
    await store.write("key", "value", 7);
    await command("CONFIG", "SET", "maxmemory", 1);
    onTestFinished(() => void command("CONFIG", "SET", "maxmemory", 0));
    await expect(store.write("key", "new", 8)).rejects.toThrow(/^could not write key: .*OOM/);
    await expect(store.read("key", 8)).rejects.toThrow("OOM"); // the server cannot store the token
    await command("CONFIG", "SET", "maxmemory", 0);
    expect(await store.read("key", 7)).toEqual({ value: Buffer.from("value"), fence: 7 });
  });

  test("the reply to another command, and replies that the script never sends", async () => {
    const honest = fencedConnectionOver(client);
    await store.write("key", "value", 7);
    const replies = [
      (reply: unknown[]) => [Number(reply[0]) - 1, ...reply.slice(1)],
      (reply: unknown[]) => reply.slice(0, 3),
      (reply: unknown[]) => [...reply.slice(0, 3), "text"],
      (reply: unknown[]) => [reply[0], 2, ...reply.slice(2)],
      (reply: unknown[]) => [reply[0], 1, "-1", null],
      () => "OK",
    ];
    for (const [index, change] of replies.entries()) {
      const tampered = fencedStore({
        ...honest,
        runScript: async (...call) => change((await honest.runScript(...call)) as unknown[]),
      });
      await expect(tampered.read("key", 7)).rejects.toThrow(index === 0 ? "the reply to another command" : "malformed");
    }
  });

  test.each<[string, (store: FencedStore) => Promise<unknown>]>([
    ["key must be a string, not undefined", (any) => any.read(undefined as never, 7)],
    ["key must not be empty", (any) => any.read("", 7)],
    ["key must be well-formed Unicode", (any) => any.delete("\ud83d", 7)],
    ["fence must be a number, not a string", (any) => any.read("key", "7" as never)],
    ["fence must be a positive integer, not 0", (any) => any.read("key", 0)],
    ["fence must be a positive integer, not 1.5", (any) => any.write("key", "value", 1.5)],
    ["fence must be a positive integer, not 9007199254740992", (any) => any.delete("key", 2 ** 53)],
    ["value must be a string, a Buffer or a Uint8Array, not number", (any) => any.write("key", 5 as never, 7)],
    ["value must be well-formed Unicode", (any) => any.write("key", "\udd12", 7)],
    ["ttlMs must be a number, not a string", (any) => any.write("key", "value", 7, { ttlMs: "5" as never })],
    ["ttlMs must be a positive integer, not 0", (any) => any.write("key", "value", 7, { ttlMs: 0 })],
    ["the options of a write must be an object, not null", (any) => any.write("key", "value", 7, null as never)],
  ])("bad arguments, before anything is sent: %s", async (message, call) => {
    const sent = fencedStore({ isReady: () => true, runScript: () => Promise.reject(new Error("it was sent")) });
    const error = await call(sent).catch((reason) => reason);
    expect(error).toMatchObject({ name: expect.stringMatching(/^(Type|Range)Error$/), message });
  });

  test.each<[string, unknown]>([
    ["the options of a fenced store must be an object, not null", null],
    ["ttl is not an option of a fenced store: did you mean fenceTtlMs?", { ttl: 5 }],
    ["timeoutMs must be a number, not a string", { timeoutMs: "5" }],
    ["timeoutMs must be above 0, and at most 2147483647 (milliseconds), not 0", { timeoutMs: 0 }],
    ["timeoutMs must be above 0, and at most 2147483647 (milliseconds), not Infinity", { timeoutMs: Infinity }],
    ["fenceTtlMs must be a positive integer (milliseconds) or Infinity, not -1", { fenceTtlMs: -1 }],
  ])("bad options: %s", (message, options) => {
    expect(() => open(options as FencedStoreOptions)).toThrow(message);
  });
});

test.each<[string, (store: FencedStore) => Promise<unknown>]>([
  ["read", (late) => late.read("key", 9)],
  ["write", (late) => late.write("key", "late", 9)],
  ["delete", (late) => late.delete("key", 9)],
])("%s() that timed out changes nothing if its command is sent later", async (_, call) => {
  const honest = fencedConnectionOver(client);
  let send: () => Promise<unknown> = () => Promise.reject(new Error("there was no call"));
  const delayed: FencedConnection = {
    ...honest,
    runScript(...command) {
      send = () => honest.runScript(...command);
      return new Promise(() => {});
    },
  };
  await store.write("key", "value", 7);
  await expect(call(fencedStore(delayed, { timeoutMs: 1 }))).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
  await expect(send()).rejects.toThrow("given up");
  expect(await store.read("key", 7)).toEqual({ value: Buffer.from("value"), fence: 7 });
});

describe("fencedStore() as a user with the fewest permissions", () => {
  const connect = async (): Promise<FencedStore> => fencedStore(fencedConnectionOver(await clientOf(server, user)));
  const useEverything = async (limited: FencedStore): Promise<void> => {
    await limited.write("invoice:42", "value", 7, { ttlMs: 600_000 });
    await limited.write("invoice:42", "value", 7);
    await limited.read("invoice:42", 8);
    await limited.delete("invoice:42", 8);
  };
  beforeEach(() => command("SCRIPT", "FLUSH"));

  test("the documented permissions suffice", async () => {
    await allow(server, permissions);
    await useEverything(await connect());
  });

  test.each(permissions)("%s is needed", async (permission) => {
    await allow(
      server,
      permissions.filter((other) => other !== permission),
    );
    await expect(useEverything(await connect())).rejects.toThrow();
  });
});
