import { join } from "node:path";
import { type EtcdServer, startEtcdCluster, startEtcdServer } from "@holdfast/testkit/etcd-server";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { etcdUrl } from "./doctor/etcd-situations.ts";
import { folderWith } from "./support/folder.ts";
import { killLater, runCli, startCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

const redis = withServers(2);
let server: EtcdServer;
beforeAll(async () => {
  server = await startEtcdServer();
});
afterAll(() => server?.stop());

test("run: locks over etcd, and inspect, list and release show and free the lock", async () => {
  const env = { HOLDFAST_NODES: etcdUrl(server) };
  const holder = startCli(["run", "b", "a", "--label", "alice", "--", "sh", "-c", "echo $HOLDFAST_FENCE; read x"], {
    env,
  });
  await holder.prints("\n");
  const fence = holder.out().trim();
  const inspected = await runCli(["inspect", "b"], { env });
  expect(inspected.out).toMatch(
    new RegExp(`^b is held by alice\n[^]*\n127.0.0.1:${server.port} +alice +\\d+s +${fence}\n$`),
  );
  expect(await runCli(["run", "b", "--no-wait", "--", "true"], { env })).toMatchObject({ code: 75 });
  const listed = await runCli(["list"], { env });
  expect(listed.out.replaceAll(/ +/g, " ")).toMatch(
    new RegExp(`^a alice \\d+s ${fence} 1 of 1\nb alice \\d+s ${fence} 1 of 1$`, "m"),
  );
  expect((await runCli(["list", "--prefix", "other/"], { env })).err).toBe("holdfast: no locks match other/*\n");
  const [owner] = /alice:[0-9a-f]{32}/.exec(inspected.out) ?? [""];
  expect(await runCli(["release", "b", "--owner", owner, "--yes"], { env })).toMatchObject({ code: 0 });
  holder.write("\n");
  await holder.ended;
  expect(await runCli(["list"], { env })).toEqual({ code: 0, out: "", err: "holdfast: no locks match lock/*\n" });
});

test("lead: elects a leader over etcd, and the next one when an operator releases the lock or it is killed", async () => {
  const env = { HOLDFAST_NODES: etcdUrl(server) };
  const command = ["--", "sh", "-c", 'echo "up $HOLDFAST_FENCE $HOLDFAST_OWNER $$"; exec sleep 600'];
  const args = ["lead", "scheduler", "--ttl", "3s", "--verbose"];
  const lead = (label: string) => startCli([...args, "--label", label, ...command], { env });
  const first = lead("alice");
  await first.prints("\n");
  const second = lead("bob");
  await expect.poll(() => second.err()).toContain("waiting for scheduler: another owner holds it");
  const [, fence = "", owner = ""] = first.out().split(/\s/);
  expect(await runCli(["release", "scheduler", "--owner", owner, "--yes"], { env })).toMatchObject({ code: 0 });
  await second.prints("\n");
  const [, nextFence = "", , pid = ""] = second.out().split(/\s/);
  expect(Number(nextFence)).toBeGreaterThan(Number(fence));
  await expect.poll(() => first.err()).toContain("lost the lock, ending the command");
  killLater(Number(pid));
  second.process.kill("SIGKILL");
  await first.prints(/up[\s\S]*\nup/);
  first.process.kill("SIGTERM");
  expect((await first.ended).code).toBe(143);
});

test("run: works with a minority of the members of a cluster down, and in a quorum with Redis", async () => {
  const cluster = await startEtcdCluster(3);
  onTestFinished(() => cluster.stop());
  await cluster.servers[0]?.kill();
  await cluster.leader();
  const env = { HOLDFAST_NODES: etcdUrl(...cluster.servers) };
  expect(await runCli(["run", "x", "--", "true"], { env })).toMatchObject({ code: 0, err: "" });
  const mixed = { HOLDFAST_NODES: `${env.HOLDFAST_NODES} ${redis.env.HOLDFAST_NODES}` };
  expect(await runCli(["run", "mixed", "--", "true"], { env: mixed })).toMatchObject({ code: 0, err: "" });
  const { out } = await runCli(["inspect", "mixed", "--json"], { env: mixed });
  expect(JSON.parse(out)).toMatchObject({ state: "free", nodes: [{ error: null }, { error: null }, { error: null }] });
});

/** Switches authentication on, with the user root and the password hunter2. */
async function requireLogin({ api }: EtcdServer): Promise<void> {
  await api("auth/user/add", { name: "root", password: "hunter2" });
  await api("auth/role/add", { name: "root" }).catch(() => {});
  await api("auth/user/grant", { user: "root", role: "root" });
  await api("auth/enable");
}

test("--node takes a password and TLS for etcd, and no command prints the password", async () => {
  const guarded = await startEtcdServer({ tls: true });
  onTestFinished(() => guarded.stop());
  await requireLogin(guarded);
  const folder = await folderWith({ "ca.pem": guarded.tls?.ca });
  const place = guarded.tls?.url.replace("https://", "") ?? "";
  const tls = ["--tls-ca", join(folder, "ca.pem")];
  const right = ["--node", `etcds://root:hunter2@${place}`, ...tls];
  expect(await runCli(["run", "x", ...right, "--", "true"])).toMatchObject({ code: 0, out: "" });
  const { out, code } = await runCli(["doctor", "--json", ...right]);
  expect({ code, findings: JSON.parse(out).findings.map(({ code }: { code: string }) => code) }).toEqual({
    code: 0,
    findings: ["single-server"],
  });
  const wrong = [
    [["--node", `etcds://root:hunter2no@${place}`, ...tls], /authentication failed/],
    [["--node", `etcds://root:hunter2@${place}`], /self-signed|self signed|--tls-ca/],
    [["--node", `etcd://127.0.0.1:${guarded.port}`], /user name is empty/],
  ] as const;
  for (const [node, why] of wrong) {
    for (const words of [
      ["list"],
      ["inspect", "x", "--json"],
      ["doctor"],
      ["run", "x", "--wait", "300ms", "--", "true"],
    ]) {
      const end = words.indexOf("--");
      const args = end < 0 ? [...words, ...node] : [...words.slice(0, end), ...node, ...words.slice(end)];
      const { code, out, err } = await runCli(args);
      const shown = (out + err).replaceAll(/\s+/g, " ");
      expect([words, shown]).toEqual([words, expect.not.stringContaining("hunter2")]);
      expect([words, shown]).toEqual([words, expect.stringMatching(why)]);
      expect([0, 70]).not.toContain(code);
    }
  }
});
