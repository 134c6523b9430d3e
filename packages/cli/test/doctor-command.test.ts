import { expect, test } from "vitest";
import { startReplica, startServer, startUrl, startUrlForUser, urlOf } from "./doctor/lab.ts";
import { runCli, startAtTerminal } from "./support/program.ts";

const esc = "\u001b";

/** Generous timeouts for busy machines. They only affect findings about latencies. */
const timeouts = ["--node-timeout", "5s", "--ttl", "10m"];

async function doctor(nodes: readonly string[], ...args: readonly string[]) {
  return runCli(["doctor", ...timeouts, ...args], { env: { HOLDFAST_NODES: nodes.join(" ") } });
}

test("doctor: exits with 69 when too few servers can be reached, and has one line for each", async () => {
  const [dead, other] = [await startServer(), await startServer()];
  await dead.kill();
  await other.kill();
  const { code, out, err } = await doctor([await startUrl(), urlOf(dead), urlOf(other)]);
  expect({ code, err }).toEqual({ code: 69, err: "" });
  expect(out).toContain("1 of 3 servers grant locks, 2 needed");
  const lines = [dead, other].map(({ port }) => `127\\.0\\.0\\.1:${port} +cannot be used\n`);
  expect(out).toMatch(new RegExp(`${lines.join("")}\n`));
});

test("doctor: --json prints the report in one line, and exits with 0 when the required level is reached", async () => {
  const { code, out } = await doctor([await startUrl()], "--json");
  expect(code).toBe(0);
  expect(out.trim().split("\n")).toHaveLength(1);
  const report = JSON.parse(out);
  expect(report).toMatchObject({
    ...{ ok: true, required: "exclusion", level: "fenced", quorum: 1, mayFail: 0 },
    ...{ ttlMs: 600_000, nodeTimeoutMs: 5_000, restartGuardMs: 0, recommendedNodeTimeoutMs: expect.any(Number) },
    findings: [{ code: "single-server", severity: "notice", server: null, level: null }],
    servers: [{ failure: null, view: { lockFailure: null } }],
  });
});

/** Starts servers with every problem that is quick to set up. */
async function wrongServers(): Promise<string[]> {
  const master = await startServer(["--maxmemory-policy", "allkeys-lru"]);
  return [
    urlOf(master),
    urlOf(await startReplica(master)),
    await startUrl(["--appendonly", "no", "--maxmemory", "50mb", "--maxmemory-policy", "volatile-ttl"]),
    await startUrlForUser(["+info", "+eval", "~x", "&x"]),
    (await startServer(["--requirepass", ""])).url,
    "a.server.with.a.name.that.is.longer.than.any.line.of.any.terminal.ought.to.be.invalid:6379",
  ];
}

test("doctor: prints lines of up to 80 ASCII characters without colours in a pipe", async () => {
  const { code, out, err } = await doctor(await wrongServers());
  expect({ code, err }).toEqual({ code: 1, err: "" });
  for (const word of ["unreachable", "replica", "evicting", "permissions-missing", "forgets-claims", "no-password"]) {
    expect(out).toContain(word);
  }
  expect(out).toMatch(/^[\x20-\x7e\n]*$/);
  const tooLong = out.split("\n").filter((line) => line.length > 80 && !line.includes("a.server.with"));
  expect(tooLong).toEqual([]);
});

test("doctor: uses colours at a terminal, and exits with 1 when the required level is not reached", async () => {
  const node = await startUrl(["--appendonly", "no"]);
  const cli = startAtTerminal(["doctor", ...timeouts], { env: { HOLDFAST_NODES: node } });
  const { out, code } = await cli.ended;
  expect(code).toBe(1);
  expect(out).toContain(`${esc}[33mwarning`);
  expect(out).toContain(`${esc}[32myes`);
});
