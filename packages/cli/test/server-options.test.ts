import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readServerOptions } from "../src/options/server-options.ts";
import { wrongSchemeOf } from "../src/servers/redis/redis-address.ts";
import { closeServers, openServers, untilConnected } from "../src/servers/servers.ts";
import { setsOf } from "../src/servers/sets.ts";
import { folderWith } from "./support/folder.ts";
import { runCli, type StartOptions } from "./support/program.ts";

const password = "s3cret@/%";
const encoded = encodeURIComponent(password);
let open: RedisServer;
let guarded: RedisServer;
beforeAll(async () => {
  [open, guarded] = await Promise.all([
    startRedisServer({ tls: true }),
    startRedisServer({ args: ["--requirepass", password] }),
  ]);
});
afterAll(async () => {
  await Promise.all([open, guarded].map((server) => server?.stop()));
});

/** Runs `inspect`, and returns the names and errors of the nodes. */
async function ask(args: readonly string[], options?: StartOptions) {
  const { code, out, err } = await runCli(["inspect", "x", "--json", ...args], options);
  expect(out + err).not.toContain(password);
  expect(out + err).not.toContain(encoded);
  const nodes: { node: string; error: string | null }[] = out === "" ? [] : JSON.parse(out).nodes;
  return { code, err, nodes: nodes.map(({ node }) => node), errors: nodes.map(({ error }) => error) };
}

test("--node accepts every form of address", async () => {
  const { port, socketPath } = open;
  const nodes = [
    `redis://127.0.0.1:${port}`,
    `localhost:${port}`,
    `127.0.0.1:${port}/1`,
    socketPath,
    `unix://${socketPath}?db=2`,
  ];
  const answer = await ask(nodes.flatMap((node) => ["--node", node]));
  const names = [`127.0.0.1:${port}`, `localhost:${port}`, `127.0.0.1:${port}/1`, socketPath, `${socketPath}/2`];
  expect(answer).toEqual({ code: 0, err: "", nodes: names, errors: [null, null, null, null, null] });
});

test("--node reports a server that does not have the database", async () => {
  const answer = await ask([`--node=127.0.0.1:${open.port}/99`]);
  expect(answer).toMatchObject({ code: 69, errors: [expect.stringContaining("DB index is out of range")] });
});

test("--node accepts a password, which is never shown", async () => {
  const right = await ask([`--node=redis://:${encoded}@127.0.0.1:${guarded.port}`]);
  expect(right).toMatchObject({ code: 0, nodes: [`127.0.0.1:${guarded.port}`], errors: [null] });
  const wrong = await ask([`--node=redis://default:no${encoded}@127.0.0.1:${guarded.port}`]);
  expect(wrong).toMatchObject({ code: 69, errors: [expect.stringContaining("WRONGPASS")] });
  const missing = await ask([`--node=redis://127.0.0.1:${guarded.port}`]);
  expect(missing).toMatchObject({ code: 69, errors: [expect.stringContaining("NOAUTH")] });
});

test("--tls-ca makes the certificates of servers trusted", async () => {
  const folder = await folderWith({ "ca.pem": open.tls?.ca });
  const node = `--node=rediss://127.0.0.1:${open.tls?.port}`;
  expect(await ask([node, "--tls-ca", join(folder, "ca.pem")])).toMatchObject({ code: 0, errors: [null] });
  expect(await ask([node])).toMatchObject({ code: 69, errors: [expect.stringContaining("self-signed certificate")] });
  expect(await ask([node, "--tls-ca", join(folder, "none.pem")])).toMatchObject({
    code: 64,
    err: `holdfast: could not read ${join(folder, "none.pem")}: ENOENT\n`,
  });
});

test("openServers() detects an address with the wrong scheme at once, without a login", async () => {
  const cases = [
    [`rediss://127.0.0.1:${open.port}`, "this port does not speak TLS: use redis:// instead of rediss://"],
    [`rediss://:${encoded}@127.0.0.1:${guarded.port}`, "this port does not speak TLS: use redis://"],
    [`redis://127.0.0.1:${open.tls?.port}`, "this port speaks TLS: use rediss:// instead of redis://"],
    [`redis://:${encoded}@127.0.0.1:${open.tls?.port}`, "this port speaks TLS: use rediss://"],
  ] as const;
  for (const [node, why] of cases) {
    const options = await readServerOptions({ node: [node] }, {});
    const servers = await openServers(options);
    const startMs = performance.now();
    await untilConnected(setsOf(servers, undefined));
    // The deadline for a connection is five seconds.
    expect(performance.now() - startMs).toBeLessThan(2_500);
    expect(servers.map((server) => server.connectionError()?.message)).toEqual([expect.stringContaining(why)]);
    await closeServers(servers);
    expect(await ask([`--node=${node}`])).toMatchObject({ code: 69, errors: [expect.stringContaining(why)] });
  }
});

test("run: exits at once with 78 when too many addresses have the wrong scheme, but not for a minority", async () => {
  const [plain, encrypted] = [`127.0.0.1:${open.port}`, `127.0.0.1:${open.tls?.port}`];
  const nodes = [`--node=rediss://${plain}`, `--node=redis://${encrypted}`, `--node=127.0.0.1:${guarded.port}`];
  const outcome = await runCli(["run", "x", "--wait", "forever", ...nodes, "--", "true"]);
  const [verdict, ...reasons] = outcome.err.trimEnd().split("\n");
  expect({ code: outcome.code, verdict }).toEqual({
    code: 78,
    verdict: "holdfast: could not lock x: 2 of 3 addresses are wrong",
  });
  expect(reasons).toEqual([
    expect.stringContaining(`${plain}: this port does not speak TLS`),
    expect.stringContaining(`${encrypted}: this port speaks TLS`),
  ]);
  const right = `--node=redis://:${encoded}@127.0.0.1:${guarded.port}`;
  const minority = [`--node=${plain}`, right, `--node=rediss://localhost:${guarded.port}`];
  expect(await runCli(["run", "x", ...minority, "--", "true"])).toEqual({ code: 0, out: "", err: "" });
});

test("wrongSchemeOf() returns undefined for a port that speaks neither protocol", async () => {
  const silent = createServer().listen(0, "127.0.0.1");
  const closing = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
  for (const server of [silent, closing]) {
    if (!server.listening) await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    for (const isTls of [true, false]) {
      expect(await wrongSchemeOf({ host: "127.0.0.1", port, isTls, db: 0 })).toBe(undefined);
    }
    server.close();
  }
});
