import { expect, test } from "vitest";
import { runCli, startCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

const servers = withServers(3);

/** A command that prints its fence, and ends when it reads a line. */
const untilLine = ["sh", "-c", 'echo "fence $HOLDFAST_FENCE"; read line'];

const cli = (...args: string[]) => runCli(args, { env: servers.env });
const start = (...args: string[]) => startCli(args, { env: servers.env });

test("run --shared: runs readers together, and keeps a writer waiting until they have ended", async () => {
  const readers = ["alice", "bob"].map((label) =>
    start("run", "prices", "--shared", "--label", label, "--", ...untilLine),
  );
  await Promise.all(readers.map((reader) => reader.prints("fence ")));
  const refused = await cli("run", "prices", "--no-wait", "--", "true");
  expect(refused.code).toBe(75);
  expect(refused.err).toMatch(/prices is held by (alice, bob|bob, alice)/);
  const writer = start("run", "prices", "--wait", "1m", "--verbose", "--", "sh", "-c", "echo $HOLDFAST_FENCE");
  await expect.poll(() => writer.err()).toContain("waiting for prices");
  for (const reader of readers) reader.write("\n");
  for (const reader of readers) expect((await reader.ended).code).toBe(0);
  const { code, out } = await writer.ended;
  expect(code).toBe(0);
  for (const reader of readers) expect(Number(out)).toBeGreaterThan(Number(reader.out().split(" ")[1]));
});

test("inspect, list and release: show everybody who shares a lock, and release one of them", async () => {
  const readers = ["alice", "bob"].map((label) =>
    start("run", "shown", "--shared", "--label", label, "--", ...untilLine),
  );
  await Promise.all(readers.map((reader) => reader.prints("fence ")));
  const names = /(alice, bob|bob, alice)/.source;
  expect((await cli("inspect", "shown")).out).toMatch(new RegExp(`^shown is shared by ${names}\n`));
  expect((await cli("list", "shown")).out).toMatch(new RegExp(`^shown +${names} .* 3 of 3$`, "m"));
  const { mode, holders } = JSON.parse((await cli("inspect", "shown", "--json")).out);
  expect({ mode, labels: holders.map(({ label }: { label: string }) => label).sort() }).toEqual({
    mode: "shared",
    labels: ["alice", "bob"],
  });
  const bob = holders.find(({ label }: { label: string }) => label === "bob");
  const released = await cli("release", "shown", "--owner", bob.owner, "--yes");
  expect(released.code).toBe(0);
  expect((await cli("inspect", "shown")).out).toMatch(/^shown is shared by alice\n/);
  for (const reader of readers) reader.write("\n");
  for (const reader of readers) await reader.ended;
});

test("run --shared: does not go with --permits", async () => {
  const { code, err } = await cli("run", "x", "--shared", "--permits", "1/2", "--", "true");
  expect({ code, err }).toEqual({ code: 64, err: expect.stringMatching(/shared and permits|mutually exclusive/) });
});
