import { Redlock } from "@holdfast/core";
import { ioredisNode } from "@holdfast/ioredis";
import { Redis } from "ioredis";
import { beforeAll, expect, test } from "vitest";
import { runCli, startCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

const servers = withServers(3);
let redlock: Redlock;

beforeAll(() => {
  const clients = servers.all.map(({ url }) => new Redis(url));
  redlock = new Redlock(clients.map((client) => ioredisNode(client)));
  return async () => {
    await redlock.close();
    for (const client of clients) client.disconnect();
  };
});

async function ticketFor(resource: string): Promise<string> {
  const lock = await redlock.acquire(resource);
  return lock.transfer({ withinMs: 60_000 });
}

function run(args: readonly string[], command: readonly string[] = ["true"]) {
  return runCli(["run", ...args, "--", ...command], { env: servers.env });
}

test("run --ticket: runs the command under the lock of another process, and releases it at the end", async () => {
  const ticket = await ticketFor("report");
  const cli = startCli(
    ["run", "--ticket", ticket, "--label", "job", "--", "sh", "-c", 'echo "under $HOLDFAST_RESOURCE"; read line'],
    { env: servers.env },
  );
  await cli.prints("under report");
  expect((await servers.owners("report"))[0]).toMatch(/^job:/);
  cli.write("\n");
  expect(await cli.ended).toMatchObject({ code: 0 });
  await servers.free("report");
});

test("run --ticket: runs nothing for a ticket that was adopted before", async () => {
  const ticket = await ticketFor("twice");
  expect(await run(["--ticket", ticket])).toMatchObject({ code: 0 });
  const { code, out, err } = await run(["--ticket", ticket], ["echo", "again"]);
  expect({ code, out }).toEqual({ code: 75, out: "" });
  expect(err).toContain("could not adopt twice: the ticket has ended");
  expect(await run(["--ticket", ticket, "-E", "9"])).toMatchObject({ code: 9 });
});
