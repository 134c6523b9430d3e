import { freePort, type RedisServer } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { runCli, type Started, startCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

const servers = withServers(5);
const quick = ["--ttl", "3s"];

/** The servers that a test has killed or paused, which are restarted for the next one. */
const harmed = new Set<RedisServer>();
afterEach(async () => {
  await Promise.all([...harmed].map((server) => server.restart()));
  harmed.clear();
});

async function kill(...indices: readonly number[]): Promise<void> {
  for (const index of indices) {
    const server = servers.all[index] as RedisServer;
    harmed.add(server);
    await server.kill();
  }
}

async function startHolder(resource: string, script: string, args: readonly string[] = []): Promise<Started> {
  const cli = startCli(["run", resource, ...quick, ...args, "--", "sh", "-c", `${script}; echo up; ${loop}`], {
    env: servers.env,
  });
  await cli.prints("up");
  return cli;
}

const loop = "while :; do sleep 0.2; done";

test("run: sends SIGTERM to the command when most servers are lost, and exits with 76", async () => {
  const cli = await startHolder("majority", "trap 'echo told; exit 0' TERM");
  await kill(0, 1, 2);
  const { code, out, err } = await cli.ended;
  expect({ code, out }).toEqual({ code: 76, out: "up\ntold\n" });
  expect(err).toMatch(/^holdfast: lost the lock, ending the command: could not keep majority: .* 3 needed; .* failed:/);
  expect(err.trim().split("\n")).toHaveLength(1);
});

test("run: continues while a minority of servers is lost, and uses servers that return", async () => {
  const cli = await startHolder("minority", "trap 'exit 7' USR1", ["--verbose"]);
  await kill(0, 1);
  await expect.poll(() => cli.err()).toMatch(/failed to extend/);
  await Promise.all([servers.all[0]?.restart(), servers.all[1]?.restart()]);
  const owner = await servers.all[4]?.command("GET", "lock:minority");
  await expect.poll(() => servers.owners("minority")).toEqual(Array(5).fill(owner));
  await kill(2, 3);
  cli.process.kill("SIGUSR1");
  const { code, err } = await cli.ended;
  expect(code).toBe(7);
  expect(err).not.toContain("lost the lock");
});

test("run: does not wait for a server that hangs", async () => {
  const [first] = servers.all;
  harmed.add(first as RedisServer);
  first?.pause();
  const outcome = await runCli(["run", "hung", "--", "echo", "mine"], { env: servers.env });
  expect(outcome).toEqual({ code: 0, out: "mine\n", err: "" });
});

test("run: exits with 69 when too few servers reply, and gives the reason for each once", async () => {
  const down = await Promise.all([freePort(), freePort()]);
  const nodes = [servers.all[0]?.url, ...down.map((port) => `127.0.0.1:${port}`)].join(",");
  const outcome = await runCli(["run", "none", "--no-wait", "--", "echo", "never"], { env: { HOLDFAST_NODES: nodes } });
  expect(outcome).toMatchObject({ code: 69, out: "" });
  expect(outcome.err).toContain("could not lock none: 0 of 3 nodes granted, 2 needed");
  for (const port of down) {
    expect(outcome.err).toContain(`127.0.0.1:${port} failed: the client is not connected: connect ECONNREFUSED`);
    expect(outcome.err.split(`ECONNREFUSED 127.0.0.1:${port}`)).toHaveLength(2);
  }
});

test("run: waits for servers that start later", async () => {
  await kill(0, 1, 2);
  const cli = startCli(["run", "later", "--wait", "forever", "--verbose", "--", "echo", "mine"], { env: servers.env });
  await expect.poll(() => cli.err()).toContain("waiting for later: too few servers answer");
  await servers.all[0]?.restart();
  expect(await cli.ended).toMatchObject({ code: 0, out: "mine\n" });
});

test("inspect: exits with 69 when too few servers reply, and gives the reason for each", async () => {
  await kill(0, 1, 2);
  const { code, out } = await runCli(["inspect", "dark"], { env: servers.env });
  expect(code).toBe(69);
  expect(out).toContain("dark may be held or free: 2 of 5 servers answered");
  expect(out).toMatch(new RegExp(`^127\\.0\\.0\\.1:${servers.all[0]?.port} +connect ECONNREFUSED`, "m"));
  expect(out).not.toContain("\n\n127");
});

test("release: exits with 69 when too few servers reply", async () => {
  for (const server of servers.all) await server.command("SET", "lock:partly", "somebody", "PX", 60_000);
  await kill(0, 1, 2);
  const outcome = await runCli(["release", "partly", "--owner", "somebody"], { env: servers.env });
  const refusals = outcome.out.split("\n").filter((line) => / +connect ECONNREFUSED 127/.test(line));
  expect(refusals).toHaveLength(6); // of the inspection before, and of the release
  expect(outcome).toMatchObject({
    code: 69,
    err: "holdfast: 2 of 5 servers replied: on the others, the lock ends with its ttl\n",
  });
});
