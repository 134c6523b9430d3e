import { Redis } from "ioredis";
import { afterAll, expect, test } from "vitest";
import { ExecutionError, Redlock } from "../src/sesamecare-redlock.ts";
import { startServers } from "./servers.ts";

const { servers, clients } = await startServers(1);
const inThree = new Redis({ port: servers[0]?.port ?? 0, db: 3 });
afterAll(() => inThree.disconnect());

test("locks are in the database of the clients, which db states", async () => {
  const redlock = new Redlock([inThree], { db: 3, retryCount: 0 });
  await redlock.using(["r"], 1_000, async (signal, context) => {
    expect(signal.aborted).toBe(false);
    expect(context).toMatchObject({ extensions: 0, lock: { resources: ["r"] } });
    expect(await inThree.get("r")).toBe(context.lock.value);
    await expect(redlock.acquire(["r"], 1_000, redlock.settings)).rejects.toBeInstanceOf(ExecutionError);
    const other = { ...redlock.settings, db: 4 };
    await expect(redlock.acquire(["r"], 1_000, other)).rejects.toThrow("db is a setting of the Redlock");
  });
});

test("a db that is not the database of all clients is refused", () => {
  expect(() => new Redlock([inThree])).toThrow("db must be 3, the database of a client, not 0");
  expect(() => new Redlock(clients, { db: 1 })).toThrow("db must be 0, the database of a client, not 1");
});
