import { startTcpProxy } from "@holdfast/conformance/tcp-proxy";
import { verify } from "@holdfast/core/verify";
import type { PostgresServer } from "@holdfast/testkit/postgres-server";
import { type PostgresStandby, startPostgresStandby } from "@holdfast/testkit/postgres-standby";
import { expect, onTestFinished, test } from "vitest";
import { openClient, startServer } from "./client.ts";
import { startStorm } from "./storm.ts";

/** A primary with a standby, behind one address. */
interface Pair {
  readonly primary: PostgresServer;
  readonly standby: PostgresStandby;
  readonly connectionString: string;
  /** Kills the primary, promotes the standby, and leads the address to it. */
  failOver(): Promise<void>;
}

async function startPair(synchronous: boolean): Promise<Pair> {
  const primary = await startServer({ settings: { synchronous_commit: "on" } });
  const standby = await startPostgresStandby(primary, { synchronous });
  onTestFinished(() => standby.stop());
  const target = { port: primary.port };
  const proxy = await startTcpProxy(target);
  onTestFinished(() => proxy.close());
  return {
    primary,
    standby,
    connectionString: primary.connectionString.replace(`:${primary.port}/`, `:${proxy.port}/`),
    async failOver() {
      await primary.kill();
      await standby.promote();
      target.port = standby.port;
      proxy.cut();
    },
  };
}

test("postgresNode() loses nothing in a failover to a synchronous standby", async ({ annotate }) => {
  const { connectionString, primary, failOver } = await startPair(true);
  const { redlock, node } = openClient(connectionString);
  const lock = await redlock.acquire("held through the failover");
  const storm = startStorm(primary, connectionString);
  await storm.grants(200);
  await failOver();
  const fences = new Map(storm.fences);
  expect(await node.inspect("held through the failover")).toMatchObject({ owner: lock.owner, fence: lock.fence });
  expect(await redlock.tryAcquire("held through the failover")).toBeNull();
  await lock.extend();
  for (const [resource, fence] of fences) {
    expect((await node.inspect(resource)).fence).toBeGreaterThanOrEqual(fence);
  }
  await storm.grants(200);
  await storm.expectExclusion(annotate, "failover to a synchronous standby");
});

test("postgresNode() grants nothing on a standby, and reads nothing there", async () => {
  const { standby } = await startPair(false);
  const { redlock, node } = openClient(standby.connectionString);
  const grant = redlock.acquire("read-only");
  await expect(grant).rejects.toMatchObject({ code: "QUORUM_UNREACHABLE" });
  await expect(grant).rejects.toThrow("the server takes no writes, as a standby does: ");
  const isStandby = "the server is a standby: connect to the primary server";
  await expect(node.inspect("read-only")).rejects.toThrow(isStandby);
  await expect(node.list()[Symbol.asyncIterator]().next()).rejects.toThrow(isStandby);
  const verified = await verify(redlock, "read-only", { owner: "0".repeat(32), fence: 1 });
  expect(verified).toMatchObject({ state: "unknown" });
});

test("postgresNode() fails in time while the synchronous standby is away, and leaves no claim when it is back", async () => {
  const { connectionString, standby } = await startPair(true);
  const { redlock } = openClient(connectionString, { nodeTimeoutMs: 300 });
  const { node: observer, redlock: other } = openClient(connectionString);
  const lock = await redlock.acquire("held");
  await standby.kill();
  await expect(redlock.acquire("unconfirmed")).rejects.toMatchObject({ code: "QUORUM_UNREACHABLE" });
  // A denial writes nothing, and waits for nobody.
  expect(await other.tryAcquire("held")).toBeNull();
  await standby.restart();
  await expect.poll(() => lock.extend().then(() => "extended", String)).toBe("extended");
  await expect.poll(async () => (await observer.inspect("unconfirmed")).owner).toBeNull();
  // A request that reaches the server only now may claim it once more, and is undone as well.
  const { redlock: patient } = openClient(connectionString, { nodeTimeoutMs: 5_000 });
  await (await patient.acquire("unconfirmed", { waitTimeoutMs: 20_000 })).release();
});

test("postgresNode() forgets what an asynchronous standby had not received before the failover", async ({
  annotate,
}) => {
  const { connectionString, standby, failOver } = await startPair(false);
  const { node, redlock: one } = openClient(connectionString);
  const { redlock: two } = openClient(connectionString);
  // Two clients with clocks far behind, whose tokens rest on the counters alone.
  const { redlock: slowOne } = openClient(connectionString, { isBehind: true });
  const { redlock: slowTwo } = openClient(connectionString, { isBehind: true });

  const early = await one.acquire("early");
  const replayed = openClient(standby.connectionString).pool;
  const owners = () => replayed.query("SELECT owner FROM holdfast_locks WHERE name = 'early'");
  await expect.poll(async () => (await owners()).rows[0]?.owner).toBe(early.owner);
  await standby.disconnect();
  const late = await one.acquire("late");
  const slow = await slowOne.acquire("slow");
  await failOver();

  // Whatever had reached the standby is still held.
  expect(await two.tryAcquire("early")).toBeNull();
  await early.extend();
  // The other claims are gone with their counters, although their holders may still rely on them.
  expect(await node.inspect("late")).toEqual({ owner: null, remainingMs: null, fence: 0 });
  const rival = await two.acquire("late");
  expect(late.remainingMs()).toBeGreaterThan(0);
  // The clock of the client keeps the tokens in order, so that storage refuses the older holder.
  expect(rival.fence).toBeGreaterThan(late.fence);
  // With such a clock far behind, a token is granted twice.
  const slowRival = await slowTwo.acquire("slow");
  expect(slow.remainingMs()).toBeGreaterThan(0);
  expect(slowRival.fence).toBe(slow.fence);
  // The older holder learns of it with its next extension.
  await expect(late.extend()).rejects.toMatchObject({ code: "LOCK_LOST" });
  await annotate(
    `after an asynchronous failover: two holders of "late" with the tokens ${late.fence} and ${rival.fence}, ` +
      `and two of "slow" with ${slow.fence} and ${slowRival.fence}`,
  );
});
