import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTable } from "@holdfast/postgres";
import { reapedDirectory, startRedisServer } from "@holdfast/testkit";
import { createCertificate } from "@holdfast/testkit/certificate";
import { startEtcdServer } from "@holdfast/testkit/etcd-server";
import { startPostgresServer } from "@holdfast/testkit/postgres-server";
import { expect, onTestFinished, test } from "vitest";
import { mysqlUserOf, startMysql } from "./doctor/mysql-lab.ts";
import { query } from "./doctor/postgres-lab.ts";
import { folderWith } from "./support/folder.ts";
import { runCli } from "./support/program.ts";

const commands = [
  ["list"],
  ["list", "--json"],
  ["inspect", "x"],
  ["inspect", "x", "--json"],
  ["release", "x", "--owner", "alice:1"],
  ["doctor"],
  ["doctor", "--json"],
];

/** Runs every command with this server and these options, and returns what they print, which contains no password. */
async function outcomesOf(node: string, ...options: readonly string[]) {
  const lines = [
    ...commands.map((words) => [...words, ...options]),
    ...(/^(postgres|mysql):/.test(node) ? [["guard", "--check", ...options]] : []),
    runLine("--wait", "300ms", "--verbose", ...options),
  ];
  return Promise.all(
    lines.map(async (words) => {
      const { code, out, err } = await runCli(words, { env: { HOLDFAST_NODES: node } });
      const shown = (out + err).replaceAll(/\s+/g, " ");
      expect([words, shown]).toEqual([words, expect.not.stringMatching(/hunter2|beginning with/)]);
      return { words, code, shown };
    }),
  );
}

function runLine(...options: readonly string[]): string[] {
  return ["run", "x", ...options, "--", "true"];
}

const rename = (command: string): readonly string[] => ["--rename-command", command, ""];

test.each([
  ["AUTH", rename("AUTH")],
  ["HELLO", rename("HELLO")],
  ["AUTH and HELLO", [...rename("AUTH"), ...rename("HELLO")]],
])("no command prints the password when a Redis server does not know %s", async (_, args) => {
  for (const user of ["", "somebody"]) {
    const server = await startRedisServer({ args });
    onTestFinished(() => server.stop());
    const outcomes = await outcomesOf(`redis://${user}:hunter2secret@127.0.0.1:${server.port}`);
    const shown = outcomes.map((outcome) => outcome.shown).join("");
    if (args.includes("AUTH") && args.includes("HELLO")) expect(shown).toMatch(/unknown command/i);
  }
});

/** Starts a server that asks the user `locker` for the password `hunter2`, and returns its place in addresses. */
async function startGuarded(): Promise<string> {
  const folder = await reapedDirectory();
  await chmod(folder, 0o755);
  const file = join(folder, "hba.conf");
  await writeFile(file, "host all holdfast 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n");
  const server = await startPostgresServer({ settings: { hba_file: file } });
  onTestFinished(() => server.stop());
  await query(server.connectionString, `${createTable()}; CREATE ROLE locker LOGIN PASSWORD 'hunter2'`);
  await query(server.connectionString, "GRANT ALL ON holdfast_locks TO locker");
  return `127.0.0.1:${server.port}/postgres`;
}

/** Expects every command to fail, and to say why. */
async function expectFailures(why: RegExp, node: string, ...options: readonly string[]): Promise<void> {
  for (const { words, code, shown } of await outcomesOf(node, ...options)) {
    expect([words, shown]).toEqual([words, expect.stringMatching(why)]);
    expect({ words, isFailure: code !== 0 && code !== 70 }).toEqual({ words, isFailure: true });
  }
}

test("no command prints the password of a database", async () => {
  const place = await startGuarded();
  const right = `postgres://locker:hunter2@${place}`;
  expect(await runCli(runLine("--node", right))).toMatchObject({ code: 0, err: "" });
  await expectFailures(/password authentication failed/, `postgres://locker:hunter2no@${place}`);
  await expectFailures(/password authentication failed/, `postgres://nobody:hunter2@${place}`);
  await expectFailures(/does not support SSL/, `${right}?sslmode=require`);
});

test("no command prints the password of a MySQL user", async () => {
  const server = await startMysql({ ssl: "OFF" });
  const right = await mysqlUserOf(server, "SELECT, INSERT, UPDATE");
  const wrong = right.replace("hunter2", "hunter2no");
  expect(await runCli(runLine("--node", right))).toMatchObject({ code: 0, err: "" });
  await expectFailures(/Access denied for user/, wrong);
  await expectFailures(/does not support secure connection/, `${right}?ssl-mode=required`);
});

test("--node takes TLS for MySQL, and checks the certificate", async () => {
  const folder = await reapedDirectory();
  await chmod(folder, 0o755);
  const { cert, certPath, keyPath } = await createCertificate(folder);
  await chmod(keyPath, 0o644);
  const { uri } = await startMysql({ ssl_cert: certPath, ssl_key: keyPath });
  const trusting = ["--tls-ca", join(await folderWith({ "ca.pem": cert }), "ca.pem")];
  const run = (mode: string, ...options: string[]) => runCli(runLine("--node", `${uri}?ssl-mode=${mode}`, ...options));
  expect(await run("verify_ca", ...trusting)).toMatchObject({ code: 0, err: "" });
  expect((await run("verify_ca", "--wait", "300ms")).err).toContain("self-signed");
  expect((await run("verify_identity", "--wait", "300ms", ...trusting)).err).toContain("does not match"); // for an address
  expect(await run("required")).toMatchObject({ code: 0, err: "" });
});

test("--node takes a password and TLS for etcd, and no command prints the password", async () => {
  const { stop, api, tls, port } = await startEtcdServer({ tls: true });
  onTestFinished(() => stop());
  await api("auth/user/add", { name: "root", password: "hunter2" });
  await api("auth/role/add", { name: "root" }).catch(() => {});
  await api("auth/user/grant", { user: "root", role: "root" });
  await api("auth/enable");
  const trusting = ["--tls-ca", join(await folderWith({ "ca.pem": tls?.ca }), "ca.pem")];
  const place = tls?.url.replace("https://", "") ?? "";
  const right = ["--node", `etcds://root:hunter2@${place}`, ...trusting];
  expect(await runCli(runLine(...right))).toMatchObject({ code: 0, out: "" });
  const { out, code } = await runCli(["doctor", "--json", ...right]);
  expect({ code, findings: JSON.parse(out).findings }).toMatchObject({
    code: 0,
    findings: [{ code: "single-server" }],
  });
  await expectFailures(/authentication failed/, `etcds://root:hunter2no@${place}`, ...trusting);
  await expectFailures(/self-signed|self signed|--tls-ca/, `etcds://root:hunter2@${place}`);
  await expectFailures(/user name is empty/, `etcd://127.0.0.1:${port}`);
});
