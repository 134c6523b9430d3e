import { setTimeout as sleep } from "node:timers/promises";
import { endingAfter, startTamperingProxy } from "@holdfast/testkit";
import { startPgBouncer } from "@holdfast/testkit/pgbouncer";
import { expect, onTestFinished, test } from "vitest";
import { openClient, startServer } from "./client.ts";
import { startStorm } from "./storm.ts";

const libraries = [
  { library: "pg", overPostgresJs: false },
  { library: "postgres.js", overPostgresJs: true },
];

test.for(libraries)(
  "postgresNode() leaves no claim behind when the connection ends within the reply to acquire(), over $library",
  async ({ overPostgresJs }, { annotate }) => {
    const server = await startServer();
    const { node: observer } = openClient(server.connectionString);
    const proxy = await startTamperingProxy(server.port);
    onTestFinished(() => proxy.stop());
    const { redlock } = openClient(server.connectionString.replace(`:${server.port}/`, `:${proxy.port}/`), {
      overPostgresJs,
    });
    const outcomes = { granted: 0, failed: 0 };
    const resources: string[] = [];
    for (let bytes = 1; bytes < 200; bytes += 7) {
      for (const then of ["end", "reset"] as const) {
        const resource = `${then} after ${bytes} bytes`;
        resources.push(resource);
        await (await redlock.acquire("warm-up", { waitTimeoutMs: 5_000 })).release(); // over a connection that is open
        proxy.tamper = endingAfter(bytes, then);
        const lock = await redlock.acquire(resource).catch(() => undefined);
        proxy.tamper = undefined;
        outcomes[lock === undefined ? "failed" : "granted"] += 1;
        // The end of the connection may reach the client together with the reply or later, and fail the release.
        if (lock)
          await expect
            .poll(() => lock.release().then(() => "released", String), { message: resource })
            .toBe("released");
      }
    }
    for (const resource of resources) {
      await expect.poll(async () => (await observer.inspect(resource)).owner, { message: resource }).toBeNull();
    }
    await annotate(`connections ended within a reply: ${JSON.stringify(outcomes)}, no claim left`);
    expect(outcomes.failed).toBeGreaterThan(10);
  },
);

test("postgresNode() keeps exclusion while its server refuses connections beyond its limit", async ({ annotate }) => {
  const server = await startServer({ settings: { max_connections: 12, superuser_reserved_connections: 0 } });
  const storm = startStorm(server);
  await storm.grants(150);
  await storm.expectExclusion(annotate, "24 connections wanted, 12 granted");
  expect(await server.log()).toContain("too many clients already");
});

test("postgresNode() keeps exclusion behind a PgBouncer in transaction mode, whose connections are terminated", async ({
  annotate,
}) => {
  const server = await startServer();
  const bouncer = await startPgBouncer(server, { poolMode: "transaction", poolSize: 3 });
  onTestFinished(() => bouncer.stop());
  const { pool } = openClient(server.connectionString);
  const storm = startStorm(server, bouncer.connectionString);
  await storm.grants(300);
  for (let times = 0; times < 10; times++) {
    await pool.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'",
    );
    await sleep(20);
    await storm.grants(15);
  }
  await storm.expectExclusion(annotate, "24 workers over 3 connections of PgBouncer, all terminated 10 times");
  // With time enough, no call fails: a connection that does not know a prepared statement costs one more round trip.
  const clients = [false, true].map((overPostgresJs) =>
    openClient(bouncer.connectionString, { overPostgresJs, nodeTimeoutMs: 10_000 }),
  );
  for (let round = 0; round < 10; round++) {
    await Promise.all(clients.map(({ redlock }, index) => redlock.acquire(`resource ${round} of ${index}`)));
  }
});
