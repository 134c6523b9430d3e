import { releaseOneOfTwo } from "@holdfast/redis-testkit/adapter/batches";
import { type ClientUnderTest, comeBack, expectNeverClaimed, toolsFor } from "@holdfast/redis-testkit/adapter-tools";
import { acquireRequest } from "@holdfast/redis-testkit/requests";
import { pass } from "@holdfast/redis-testkit/timing";
import { describe, expect, test } from "vitest";
import { over5, over6, overValkey } from "./clients.ts";

type Over = (options: { port: number; commandTimeout?: number }) => ClientUnderTest;

const clients: [string, Over][] = [
  ["ioredis 6", over6],
  ["ioredis 5", over5],
  ["iovalkey", overValkey],
];

// After a reconnection, these libraries resend commands that were in flight.
describe.each(clients)("commands that %s resends", { timeout: 30_000 }, (_, over) => {
  test("include the claims of a tick that were not released", async () => {
    const { command } = await releaseOneOfTwo(toolsFor((port) => over({ port })));
    expect(await command("EXISTS", "lock:alice")).toBe(0);
    expect(await command("GET", "lock:bob")).toBe("bob");
  });

  test.each([1, 3])("include no claim that has failed by commandTimeout: %i in a call", async (count) => {
    const commandTimeout = 100;
    const { server, proxy, connected } = toolsFor((port) => over({ port, commandTimeout }));
    const { port, command } = await server();
    const network = await proxy({ port });
    const client = await connected(network.port);
    await comeBack(client); // repeats the warm-up until it takes less than commandTimeout
    network.stall("requests");
    const resources = ["r", "s", "t"].slice(0, count);
    const claims = resources.map((resource) => client.node.acquire(acquireRequest("alice", { resources: [resource] })));
    for (const claim of claims) await expect(claim).rejects.toThrow("timed out");
    await pass(commandTimeout);
    await network.refuse();
    network.cut();
    await network.start();
    await comeBack(client);
    await expectNeverClaimed(command);
  });
});
