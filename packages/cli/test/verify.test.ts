import { expect, test } from "vitest";
import { runCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

const servers = withServers(3);

/** Runs a command under the lock, and returns the fence. */
async function lockOnce(resource: string): Promise<string> {
  const { out } = await runCli(["run", resource, "--", "sh", "-c", "echo $HOLDFAST_FENCE"], { env: servers.env });
  await servers.free(resource);
  return out.trim();
}

function verify(...args: string[]) {
  return runCli(["verify", ...args], { env: servers.env });
}

test("verify: exits with 0 for the newest fence, and with 1 once a newer lock was granted", async () => {
  const old = await lockOnce("r");
  const current = await verify("r", old);
  const newer = await lockOnce("r");
  const superseded = await verify("r", old);
  expect(current).toMatchObject({ code: 0, err: "" });
  expect(current.out).toContain(`${old} is current: no newer lock on r was granted\n`);
  for (const { port } of servers.all) expect(current.out).toMatch(new RegExp(`127\\.0\\.0\\.1:${port} +${old}`));
  expect(superseded).toMatchObject({ code: 1, err: "" });
  expect(superseded.out).toContain(`${old} is superseded: a newer fence of r is ${newer}\n`);
});

test("verify: --json prints one line", async () => {
  const fence = Number(await lockOnce("json"));
  const { code, out } = await verify("json", `${fence}`, "--json");
  expect(code).toBe(0);
  expect(out.trim().split("\n")).toHaveLength(1);
  const nodes = servers.all.map(({ port }) => ({ node: `127.0.0.1:${port}`, fence, error: null }));
  expect(JSON.parse(out)).toEqual({ resource: "json", fence, state: "current", newest: fence, nodes });
});

test("verify: exits with 69 for a fence that no server has granted, and when too few servers reply", async () => {
  const foreign = await verify("untouched", "7");
  expect(foreign.code).toBe(69);
  expect(foreign.out).toContain("7 is unknown: no server that answered has granted it for untouched\n");
  const [port] = servers.all.map((server) => server.port);
  const nodes = [`--node=127.0.0.1:${port}`, "--node=127.0.0.1:1", "--node=127.0.0.1:2"];
  const fence = await lockOnce("few");
  const few = await runCli(["verify", "few", fence, ...nodes]);
  expect(few.code).toBe(69);
  expect(few.out).toContain(`${fence} cannot be verified: 1 of 3 servers answered, too few to tell\n`);
});

test("verify: exits with 64 for a fence that is not one", async () => {
  for (const word of ["seven", "0", "1.5", "99999999999999999999"]) {
    const { code, err } = await verify("r", word);
    expect({ word, code }).toEqual({ word, code: 64 });
    expect(err).toContain("a fence must be a positive integer below 2^53");
  }
});
