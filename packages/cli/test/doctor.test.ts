import { lockNames } from "@holdfast/redis";
import { documentedPermissions } from "@holdfast/redis-testkit/permissions";
import { startRedisServer } from "@holdfast/testkit";
import { expect, onTestFinished, test } from "vitest";
import type { Report } from "../src/doctor/judge.ts";
import { renderReport } from "../src/doctor/render.ts";
import type { RedisView } from "../src/servers/redis/examine-redis.ts";
import { examineServers, refusingUrl, send, startServer, startUrl, startUrlForUser, urlOf } from "./doctor/lab.ts";

const codesOf = ({ findings }: { readonly findings: readonly { readonly code: string }[] }): string[] =>
  findings.map(({ code }) => code);

/** Returns the permissions of the user of the only server. */
function accessOf({ servers: [server] }: Report): RedisView["access"] | undefined {
  return (server?.view as RedisView | undefined)?.access;
}

test("examine() reports the level fenced for healthy servers, and leaves one fence counter behind", async () => {
  const nodes = await Promise.all(Array.from({ length: 5 }, () => startUrl()));
  const report = await examineServers(nodes, { required: "fenced" });
  const recommendedNodeTimeoutMs = expect.any(Number);
  expect(report).toMatchObject({ ok: true, level: "fenced", quorum: 3, mayFail: 2, recommendedNodeTimeoutMs });
  expect(codesOf(report)).toEqual(["same-machine"]);
  for (const node of nodes)
    expect(await send(node, "KEYS", "*")).toEqual([lockNames("lock:", "{holdfast-doctor}").fence]);
});

test("examine() reports the level exclusion, and no higher, when a restart guard covers lost claims", async () => {
  const nodes = await Promise.all([1, 2, 3].map(() => startUrl(["--appendonly", "no"])));
  expect(await examineServers(nodes, { restartGuardMs: 600_000 })).toMatchObject({ ok: true, level: "exclusion" });
  expect(await examineServers(nodes, { restartGuardMs: 600_000, required: "fenced" })).toMatchObject({ ok: false });
});

test("examine() reports the level efficiency when a server forgets, and none without a quorum", async () => {
  const [forgetful, right] = [await startUrl(["--appendonly", "no"]), await startUrl()];
  expect(await examineServers([forgetful, right])).toMatchObject({ level: "efficiency" });
  expect(await examineServers([right, await refusingUrl()])).toMatchObject({ level: null });
});

test("examine() reports the facts about a server", async () => {
  const { servers } = await examineServers([await startUrl()]);
  expect(servers).toMatchObject([
    {
      address: { machine: "local", isTls: false, database: 0 },
      failure: null,
      view: {
        latency: { medianMs: expect.any(Number), p99Ms: expect.any(Number), pings: 10 },
        clock: { aheadMs: expect.any(Number), uncertaintyMs: expect.any(Number) },
        info: {
          version: expect.stringMatching(/^\d+\.\d+/),
          replicaOf: null,
          replicas: 0,
          appendonly: true,
          maxmemory: 0,
        },
        ...{ appendfsync: "always", pausesFsync: false, sentinels: 0 },
        access: { missing: [], missingForWakeUps: [], missingForSharing: [], unknownCommands: [], isOpen: false },
        lockFailure: null,
      },
    },
  ]);
});

test("examine() does not wait for a server that hangs", async () => {
  const hanging = await startServer();
  const nodes = [await startUrl(), urlOf(hanging), await startUrl()];
  hanging.pause();
  const report = await examineServers(nodes, { answerTimeoutMs: 500 });
  hanging.resume();
  expect(report.servers.map(({ failure }) => failure)).toEqual([null, "no answer within 500 ms", null]);
  expect(report.level).toBe("efficiency");
});

test("examine() reports why a login is refused, without the password", async () => {
  const { port } = await startServer();
  const report = await examineServers([`redis://:letmein@127.0.0.1:${port}`, `redis://127.0.0.1:${port}/1`]);
  expect(report.servers.map(({ failure }) => failure)).toEqual([
    expect.stringContaining("WRONGPASS"),
    expect.stringContaining("NOAUTH"),
  ]);
  const shown = renderReport(report, 80);
  expect(shown).toContain("WRONGPASS");
  expect(JSON.stringify(report) + shown).not.toMatch(/letmein|secret/);
});

test("examine() connects over TLS and over a socket", async () => {
  const server = await startRedisServer({ tls: true, appendonly: true });
  onTestFinished(() => server.stop());
  const { port, ca } = server.tls as { port: number; ca: string };
  const report = await examineServers([`rediss://127.0.0.1:${port}`], { tls: { ca } });
  expect(report.servers[0]).toMatchObject({ failure: null, address: { isTls: true, machine: "local" } });
  const untrusted = await examineServers([`rediss://127.0.0.1:${port}`]);
  expect(untrusted.servers[0]?.failure).toMatch(/certificate/);
  const wrongScheme = await examineServers([`rediss://127.0.0.1:${server.port}`]);
  expect(wrongScheme.servers[0]?.failure).toContain("does not speak TLS");
  const bySocket = await examineServers([server.socketPath]);
  expect(bySocket.servers[0]).toMatchObject({ failure: null, address: { machine: "local" } });
});

test("examine() reports which of the documented permissions is missing", async () => {
  const all = await documentedPermissions();
  const server = await startServer();
  for (const [index, permission] of all.entries()) {
    const granted = [...all.filter((other) => other !== permission), "+info"];
    await send(urlOf(server), "ACL", "SETUSER", `user${index}`, "on", ">secret", ...granted);
    const report = await examineServers([urlOf(server).replace("://", `://user${index}`)], { pings: 1 });
    const isForSharing = all.indexOf(permission) >= all.indexOf("+zscore");
    const isForWakeUps = !isForSharing && /^\+z|publish|subscribe|released/.test(permission);
    expect([permission, accessOf(report)]).toMatchObject([
      permission,
      {
        missing: isForSharing || isForWakeUps ? [] : [permission],
        missingForWakeUps: isForWakeUps ? [permission] : [],
        missingForSharing: isForSharing ? [permission] : [],
      },
    ]);
  }
  expect(all.length).toBeGreaterThan(20);
});

test("examine() reports that +info is missing for a restart guard", async () => {
  const url = await startUrlForUser(await documentedPermissions());
  const report = await examineServers([url], { restartGuardMs: 60_000 });
  const missing = report.findings.find(({ code }) => code === "permissions-missing");
  expect(missing?.message).toContain("+info");
});

test("examine() does not use another database when the user may not select one, and reports why", async () => {
  const url = await startUrlForUser(await documentedPermissions());
  const report = await examineServers([`${url}/3`]);
  expect(report.servers[0]?.failure).toMatch(/^NOPERM .*select/);
});

test("examine() uses the prefix of the locks", async () => {
  const permissions = (await documentedPermissions()).filter((permission) => permission !== "~lock:*");
  const url = await startUrlForUser([...permissions, "~shop:*"]);
  expect(accessOf(await examineServers([url], { prefix: "shop:" }))?.missing).toEqual([]);
  expect(accessOf(await examineServers([url]))?.missing).toEqual(["~lock:*"]);
});
