import type { RedisServer } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { runCli, type Started, startCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

const servers = withServers(3);

/** A command that prints "up" and the number of its term, and then works until it is ended. */
const service = (script = "true") => ["sh", "-c", `${script}; echo "up $HOLDFAST_FENCE"; while :; do sleep 0.2; done`];

function startLead(args: readonly string[], command: readonly string[]): Started {
  return startCli(["lead", ...args, "--", ...command], { env: servers.env });
}

/** The terms in which a command has run so far. */
function termsOf(cli: Started): readonly number[] {
  return [...cli.out().matchAll(/up (\d+)\n/g)].map(([, fence]) => Number(fence));
}

test("lead: exits with the status of a command that ends by itself, and resigns", async () => {
  const command = ["sh", "-c", 'echo "$HOLDFAST_RESOURCE|$HOLDFAST_FENCE|$HOLDFAST_OWNER"; exit 42'];
  const { code, out, err } = await runCli(["lead", "status", "--label", "night shift", "--", ...command], {
    env: servers.env,
  });
  expect({ code, err }).toEqual({ code: 42, err: "" });
  expect(out).toMatch(/^status\|\d{16}\|night shift:[0-9a-f]{32}\n$/);
  await servers.free("status");
});

test("lead: ends the command when its term is lost, and starts it again in the next term", async () => {
  const cli = startLead(["lost", "--ttl", "3s"], service("trap 'echo told; exit 0' TERM"));
  await cli.prints(/up/);
  const killed = servers.all.slice(0, 2) as readonly RedisServer[];
  await Promise.all(killed.map((server) => server.kill()));
  await cli.prints(/told\n/);
  await expect
    .poll(() => cli.err()) // the command may have been faster
    .toMatch(/^holdfast: lost the lock, ending the command: term \d+ of lost has ended: could not keep lost/);
  await Promise.all(killed.map((server) => server.restart()));
  await cli.prints(/told\nup \d+\n/);
  const [first = 0, second = 0] = termsOf(cli);
  expect(second).toBeGreaterThan(first);
  cli.process.kill("SIGTERM");
  expect((await cli.ended).code).toBe(0);
});

test("lead: does not stand again when it is told to stop while its command ends", async () => {
  const script = "trap 'echo told; sleep 1; exit 7' TERM";
  const cli = startLead(["both", "--ttl", "3s", "--max-hold", "3s"], service(script));
  await cli.prints(/told/);
  cli.process.kill("SIGTERM");
  expect(await cli.ended).toMatchObject({ code: 7 });
  expect(termsOf(cli)).toHaveLength(1);
});

test("lead: exits with 128 + the number of a signal that arrives while another process leads", async () => {
  const leader = startLead(["standby"], service());
  await leader.prints(/up/);
  const standby = startLead(["standby", "--verbose"], service());
  await expect.poll(() => standby.err()).toContain("waiting for standby: another owner holds it");
  standby.process.kill("SIGTERM");
  expect(await standby.ended).toMatchObject({ code: 143, out: "" });
  leader.process.kill("SIGTERM");
  await leader.ended;
});
