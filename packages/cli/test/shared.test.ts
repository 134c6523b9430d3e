import { expect, test } from "vitest";
import { holdLock, runCli, startCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

const servers = withServers(3);

const cli = (...args: string[]) => runCli(args, { env: servers.env });

/** Lets two commands share a lock. */
function readersOf(resource: string) {
  const labels = ["alice", "bob"];
  return Promise.all(labels.map((label) => holdLock([resource, "--shared", "--label", label], servers.env)));
}

test("run --shared: runs readers together, and keeps a writer waiting until they have ended", async () => {
  const readers = await readersOf("prices");
  const refused = await cli("run", "prices", "--no-wait", "--", "true");
  expect(refused.code).toBe(75);
  expect(refused.err).toMatch(/prices is held by (alice, bob|bob, alice)/);
  const words = ["run", "prices", "--wait", "1m", "--verbose", "--", "sh", "-c", "echo $HOLDFAST_FENCE"];
  const writer = startCli(words, { env: servers.env });
  await expect.poll(() => writer.err()).toContain("waiting for prices");
  expect(await Promise.all(readers.map(({ end }) => end()))).toMatchObject([{ code: 0 }, { code: 0 }]);
  const { code, out } = await writer.ended;
  expect(code).toBe(0);
  for (const { fence } of readers) expect(Number(out)).toBeGreaterThan(Number(fence));
});

test("inspect, list and release: show everybody who shares a lock, and release one of them", async () => {
  const readers = await readersOf("shown");
  const names = /(alice, bob|bob, alice)/.source;
  expect((await cli("inspect", "shown")).out).toMatch(new RegExp(`^shown is shared by ${names}\n`));
  expect((await cli("list", "shown")).out).toMatch(new RegExp(`^shown +${names} .* 3 of 3$`, "m"));
  const { mode, holders } = JSON.parse((await cli("inspect", "shown", "--json")).out);
  expect({ mode, labels: holders.map(({ label }: { label: string }) => label).sort() }).toEqual({
    mode: "shared",
    labels: ["alice", "bob"],
  });
  const bob = holders.find(({ label }: { label: string }) => label === "bob");
  const released = await cli("release", "shown", "--owner", bob.owner);
  expect(released.code).toBe(0);
  expect((await cli("inspect", "shown")).out).toMatch(/^shown is shared by alice\n/);
  for (const { end } of readers) await end();
});
