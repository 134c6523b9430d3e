import { expect, test } from "vitest";
import { killLater, runCli, startCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

const servers = withServers(3);

/** A command that prints its slots, and ends when it reads a line. */
const untilLine = ["sh", "-c", 'echo "slots" $HOLDFAST_SLOT; read line'];

function run(args: readonly string[], command: readonly string[] = ["true"]) {
  return runCli(["run", ...args, "--", ...command], { env: servers.env });
}

function startRun(args: readonly string[], command: readonly string[] = untilLine) {
  return startCli(["run", ...args, "--", ...command], { env: servers.env });
}

test("run --permits: runs as many commands at once as there are permits, in different slots, and refuses more", async () => {
  const running = [1, 2].map(() => startRun(["build", "--permits", "1/2"]));
  await Promise.all(running.map((cli) => cli.prints("slots ")));
  expect(running.map((cli) => cli.out().trim()).sort()).toEqual(["slots 0", "slots 1"]);
  const refused = await run(["build", "--permits", "1/2", "--no-wait", "-E", "9"]);
  expect(refused).toMatchObject({ code: 9, out: "" });
  expect(refused.err).toContain("could not acquire 1 permit of build: 0 of 2 free");
  const waiting = startRun(["build", "--permits", "2/2", "--wait", "1m", "--verbose"], ["echo", "both"]);
  await expect.poll(() => waiting.err()).toContain("waiting for build: too few permits are free");
  for (const cli of running) cli.write("\n");
  for (const cli of running) expect((await cli.ended).code).toBe(0);
  expect(await waiting.ended).toMatchObject({ code: 0, out: "both\n" });
  await servers.free("sem:build:0");
  await servers.free("sem:build:1");
  await servers.free("sem:build:turn");
});

test("run --permits: gives the command a line for each slot: name, number, fence and owner", async () => {
  const script =
    'for list in "$HOLDFAST_RESOURCE" "$HOLDFAST_SLOT" "$HOLDFAST_FENCE" "$HOLDFAST_OWNER"; do echo $list; done';
  const { out } = await run(["told", "--permits", "2/2", "--label", "night"], ["sh", "-c", script]);
  const [resources, slots, fences, owners] = out.trim().split("\n");
  expect([resources, slots]).toEqual(["sem:told:0 sem:told:1", "0 1"]);
  expect(fences).toMatch(/^\d{16} \d{16}$/);
  expect(owners).toMatch(/^night:[0-9a-f]{32} night:[0-9a-f]{32}$/);
});

test("run: hides the slots of an outer run --permits from a command under a lock", async () => {
  const env = { ...servers.env, HOLDFAST_SLOT: "3" };
  const { out } = await runCli(["run", "inner", "--", "sh", "-c", 'echo "slot <$HOLDFAST_SLOT>"'], { env });
  expect(out).toBe("slot <>\n");
});

test("run --permits: ends the command when a permit is lost", async () => {
  const cli = startRun(["lost", "--permits", "1/1", "--ttl", "2s"], ["sh", "-c", "echo up $$; exec sleep 600"]);
  await cli.prints("\n");
  killLater(Number(cli.out().split(" ")[1]));
  await Promise.all(servers.all.map((server) => server.command("DEL", "lock:sem:lost:0")));
  const { code, err } = await cli.ended;
  expect(code).toBe(76);
  expect(err).toContain("lost a permit, ending the command: could not keep sem:lost:0");
});
