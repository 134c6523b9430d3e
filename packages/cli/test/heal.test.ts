import { lockNames } from "@holdfast/redis";
import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import { expect, onTestFinished, test } from "vitest";
import { nameOf, newFiles, setCounter } from "./support/files.ts";
import { lockOnce, runCli, startAtTerminal, startCli } from "./support/program.ts";

/** Starts servers without persistence, and returns them with the environment that names them. */
async function startServers(count: number) {
  const servers = await Promise.all(Array.from({ length: count }, () => startRedisServer()));
  onTestFinished(async () => void (await Promise.all(servers.map((server) => server.stop()))));
  const names = servers.map(({ port }) => `127.0.0.1:${port}`);
  return { servers, names, env: { HOLDFAST_NODES: names.join(" ") } };
}

/** Returns new SQLite files, and the environment that names them. */
async function createFiles() {
  const addresses = await newFiles(3);
  return { addresses, names: addresses.map(nameOf), env: { HOLDFAST_NODES: addresses.join(" ") } };
}

const fenceKey = (resource: string) => lockNames("lock:", resource).fence;

test("heal: writes a floor above all counters of the others, and says what it has read and written", async () => {
  const { servers, names, env } = await startServers(3);
  const [a, b, c] = servers as [RedisServer, RedisServer, RedisServer];
  const far = Date.now() * 1_000 + 3_600e6; // an hour ahead of the clocks
  await a.command("MSET", fenceKey("x"), far - 1, fenceKey("y"), far);
  await b.command("MSET", fenceKey("x"), far - 1, fenceKey("z"), far + 6);
  await c.command("FLUSHALL");
  const { code, out, err } = await runCli(["heal", `${names[2]}`, "--settle", "0"], { env });
  expect({ code, err, lines: out.split("\n") }).toEqual({
    code: 0,
    err: "",
    lines: [
      `healed ${names[2]}`,
      `  read   4 fence counters of ${names[0]} and ${names[1]}`,
      `  floor  ${far + 7}: no later token is below it`,
      "",
    ],
  });
  const inspected = await runCli(["inspect", "y"], { env });
  expect(inspected.out).toMatch(new RegExp(`${names[2]} +${far + 7}\n`));
  await a.stop();
  expect((await lockOnce("y", env)).fence).toBeGreaterThanOrEqual(far + 7);
});

test("heal: warns of a server that it has read and that has no counters, unlike others", async () => {
  const { addresses, names, env } = await createFiles();
  const [lost, empty] = names;
  await setCounter(`${addresses[2]}`, "x", 7);
  const { code, out, err } = await runCli(["heal", `${lost}`, "--settle", "0"], { env });
  expect({ code, out, err: err.split("\n").at(-2) }).toEqual({
    code: 0,
    out: expect.stringContaining("floor  8:"),
    err:
      `holdfast: warning: ${empty} has no fence counters and no floor, unlike others: if they were lost, this floor may ` +
      `be too low. Heal all together: holdfast heal ${lost} ${empty}`,
  });
});

test("heal: reads again after --settle, and waits for it on standard error", async () => {
  const { addresses, names, env } = await createFiles();
  const healing = startCli(["heal", `${names[2]}`, "--settle", "3s"], { env });
  await expect.poll(() => healing.err()).toMatch(/^holdfast: waiting 3 s until attempts from before have ended/m);
  const far = Date.now() * 1_000 + 3_600e6;
  await setCounter(`${addresses[0]}`, "late", far);
  const { code, out } = await healing.ended;
  expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining(`floor  ${far + 1}:`) });
});

test("heal: ends at Ctrl-C while it waits, and can be repeated", async () => {
  const { names, env } = await createFiles();
  const healing = startAtTerminal(["heal", `${names[2]}`], { env });
  await healing.prints("waiting");
  healing.write("\u0003");
  const { code, out } = await healing.ended;
  expect({ code, out }).toEqual({ code: 130, out: expect.stringContaining("is not healed yet. Run the same command") });
  expect(await runCli(["heal", `${names[2]}`, "--settle", "0"], { env })).toMatchObject({ code: 0 });
});

test("heal: exits with 69 when too few other servers reply, and writes nothing", async () => {
  const { servers, names, env } = await startServers(3);
  await servers[0]?.kill();
  const { code, out, err } = await runCli(["heal", `${names[2]}`, "--settle", "0", "--node-timeout", "3s"], { env });
  expect({ code, out }).toEqual({ code: 69, out: "" });
  expect(err).toContain(`could not read the counters to heal ${names[2]}: 1 of 2 other nodes did, 2 needed`);
  expect(err).toContain(`${names[0]} failed: `);
});

test("heal: names the servers when it is given another name", async () => {
  const { names, env } = await createFiles();
  const { code, err } = await runCli(["heal", "nowhere:1"], { env });
  expect({ code, err }).toEqual({
    code: 64,
    err: `holdfast: nowhere:1 is none of the servers: ${names.join(", ")}\n`,
  });
});
