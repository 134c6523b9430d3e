/** The statements of from-etcd3.md, beyond the code on the page. */

import { LockLostError, Redlock } from "@holdfast/core";
import { etcdNode } from "@holdfast/etcd";
import { startEtcdServer } from "@holdfast/testkit/etcd-server";
import { Etcd3, EtcdLockFailedError } from "etcd3";
import { afterAll, describe, expect, test } from "vitest";

const server = await startEtcdServer();
const client = new Etcd3({ hosts: server.url });
const redlock = new Redlock([etcdNode({ endpoints: server.url })], { nodeTimeoutMs: 5_000 });
afterAll(async () => {
  client.close();
  await redlock.close();
  await server.stop();
});

let keys = 0;
const freshKey = (): string => `key-${++keys}`;

describe("lock() of etcd3", () => {
  test("rejects at once if another client holds it", async () => {
    const key = freshKey();
    const lock = await client.lock(key).acquire();
    await expect(client.lock(key).acquire()).rejects.toThrow(EtcdLockFailedError);
    await lock.release();
  });

  test("has a ttl of 30 seconds, and an empty value", async () => {
    const key = freshKey();
    const lock = await client.lock(key).acquire();
    expect(await server.api("lease/timetolive", { ID: await lock.leaseId() })).toMatchObject({ grantedTTL: "30" });
    expect(await client.get(key).string()).toBe("");
    await lock.release();
  });

  test("does not report its loss, and releases without an error", async () => {
    const key = freshKey();
    const lose = async () => {
      await server.api("lease/revoke", { ID: await lock.leaseId() });
      await (await client.lock(key).acquire()).release();
      return "done";
    };
    const lock = client.lock(key);
    expect(await lock.do(lose)).toBe("done");
  });
});

test("using() of Holdfast rejects if the claim was lost, although the routine succeeds", async () => {
  const key = freshKey();
  const shortLived = new Redlock([etcdNode({ endpoints: server.url })], { ttlMs: 2_000, nodeTimeoutMs: 1_500 });
  const using = shortLived.using(key, async (lock) => {
    await client.delete().key(`lock/c/${key}`);
    await new Promise((resolve) => lock.signal.addEventListener("abort", resolve));
  });
  await expect(using).rejects.toThrow(LockLostError);
});

test("a Holdfast lock shows its label in the value of the key", async () => {
  const key = freshKey();
  const lock = await redlock.acquire(key, { label: "worker-7" });
  expect(await client.get(`lock/c/${key}`).string()).toBe(lock.owner);
  expect(lock.owner).toMatch(/^worker-7/);
  await lock.release();
});
