import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { reapedDirectory } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { isAlive, killLater, runCli, start, startCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

const servers = withServers(5);

/** A command that prints "up", and ends when it reads a line. */
const untilLine = ["sh", "-c", "echo up; read line; exit 7"];

function run(args: readonly string[], command: readonly string[]) {
  return runCli(["run", ...args, "--", ...command], { env: servers.env });
}

function startRun(args: readonly string[], command: readonly string[]) {
  return startCli(["run", ...args, "--", ...command], { env: servers.env });
}

test("run: exits with the status of the command, adds nothing to its output, and releases the lock", async () => {
  const outcome = await run(["status"], ["sh", "-c", "echo result; echo remark >&2; exit 42"]);
  expect(outcome).toEqual({ code: 42, out: "result\n", err: "remark\n" });
  await servers.free("status");
});

test("run: passes standard input on to the command", async () => {
  const cli = startRun(["input"], ["cat"]);
  cli.write("a line\n");
  cli.process.stdin?.end();
  expect(await cli.ended).toEqual({ code: 0, out: "a line\n", err: "" });
});

test("run: passes arguments on unchanged, even those that look like options", async () => {
  const outcome = await run(["arguments"], ["printf", "[%s]", "--help", "", "a b", "'c'", "007", "--", "-x=1"]);
  expect(outcome.out).toBe("[--help][][a b]['c'][007][--][-x=1]");
});

test("run: gives the command the resource, the fence and the owner that all servers hold", async () => {
  const script = 'echo "$HOLDFAST_RESOURCE|$HOLDFAST_FENCE|$HOLDFAST_OWNER"; read line';
  const cli = startRun(["told", "--label", "night shift"], ["sh", "-c", script]);
  await cli.prints("\n");
  const [resource, fence, owner] = cli.out().trim().split("|");
  expect(resource).toBe("told");
  expect(Number(fence)).toBeGreaterThan(1e15);
  expect(owner).toMatch(/^night shift:[0-9a-f]{32}$/);
  await expect.poll(() => servers.owners("told")).toEqual(Array(5).fill(owner));
  cli.write("\n");
  await cli.ended;
});

test("run: locks several resources together, and lists them one per line", async () => {
  const cli = startRun(["to:9", "from:7"], ["sh", "-c", 'echo "$HOLDFAST_RESOURCE"; read line']);
  await cli.prints("from:7\nto:9\n");
  const refused = await run(["to:9", "--no-wait"], ["true"]);
  expect(refused.code).toBe(75);
  cli.write("\n");
  expect((await cli.ended).code).toBe(0);
});

test("run: --no-wait and --wait fail with 75 or the code of -E and name the holder, and --wait gets a released lock", async () => {
  const holder = startRun(["busy", "--label", "alice"], untilLine);
  await holder.prints("up");
  const once = await run(["busy", "--no-wait"], ["echo", "never"]);
  expect(once).toEqual({ code: 75, out: "", err: "holdfast: could not lock busy: busy is held by alice\n" });
  const impatient = await run(["busy", "--wait", "200ms"], ["echo", "never"]);
  expect(impatient).toMatchObject({ code: 75, err: expect.stringContaining("within 200ms: busy is held by alice") });
  for (const option of [["-E", "1"], ["--conflict-exit-code=1"]]) {
    const chosen = await run(["busy", "--no-wait", ...option], ["echo", "never"]);
    expect(chosen).toEqual({ ...once, code: 1 });
  }
  expect(await run(["busy", "--no-wait", "-E", "0"], ["echo", "never"])).toEqual({ ...once, code: 0 });

  const patient = startRun(["busy", "--wait", "1h", "--verbose"], ["echo", "mine"]);
  await expect.poll(() => patient.err()).toContain("waiting for busy: another owner holds it");
  holder.write("\n");
  expect(await patient.ended).toMatchObject({ code: 0, out: "mine\n" });
});

test("run: --verbose reports the events of the lock on standard error", async () => {
  const { out, err } = await run(["narrated", "--label", "bob", "--verbose"], ["echo", "result"]);
  expect(out).toBe("result\n");
  expect(err).toMatch(
    /^holdfast: locked narrated with fence \d+ as bob:\S+ \(in \S+, attempt 1\)\nholdfast: released narrated after \S+\n$/,
  );
});

test("run: exits with 127 or 126, and releases the lock, if the command is not found or cannot be executed", async () => {
  const file = join(await reapedDirectory(), "script");
  await writeFile(file, "echo never\n", { mode: 0o644 });
  const cases = [
    ["no-such-command", 127, "no-such-command was not found"],
    ["", 127, '"" was not found'],
    [file, 126, `${file} could not be executed: EACCES`],
    [`${file}/command`, 126, `${file}/command could not be executed: ENOTDIR`], // which spawn() throws
  ] as const;
  for (const [command, code, why] of cases) {
    expect(await run(["missing"], [command])).toEqual({ code, out: "", err: `holdfast: ${why}\n` });
    await servers.free("missing");
  }
});

test("run: exits with 128 + the number of the signal that ended the command", async () => {
  expect((await run(["killed"], ["sh", "-c", "kill -9 $$"])).code).toBe(137);
  await servers.free("killed");
});

test("run: passes signals on to the command as often as they arrive, and exits with its status", async () => {
  const signals = ["SIGINT", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGTERM"] as const;
  const trap = (signal: string, end: string) => `trap 'n=$((n + 1)); echo $n ${signal}${end}' ${signal.slice(3)}`;
  const traps = signals.map((signal) => trap(signal, signal === "SIGTERM" ? "; exit 5" : ""));
  const cli = startRun(["signals"], ["sh", "-c", `${traps.join("; ")}; echo up; while :; do sleep 0.2; done`]);
  await cli.prints("up");
  for (const [index, signal] of signals.entries()) {
    cli.process.kill(signal);
    await cli.prints(`${index + 1} ${signal}`);
  }
  expect(await cli.ended).toMatchObject({ code: 5, err: "" });
});

test("run: exits with 128 + the number of a signal that arrives while it waits, and leaves no claim behind", async () => {
  for (const server of servers.all) await server.command("SET", "lock:waited", "somebody", "PX", 600_000);
  const waiting = startRun(["waited", "--wait", "forever", "--verbose"], ["echo", "never"]);
  await expect.poll(() => waiting.err()).toContain("waiting");
  waiting.process.kill("SIGTERM");
  expect(await waiting.ended).toMatchObject({ code: 143, out: "" });
  expect(await servers.owners("waited")).toEqual(Array(5).fill("somebody"));
});

test("run: --max-hold ends the command with 76, with --process-group also a process of it that ignores SIGTERM", async () => {
  const script = "(trap '' TERM; echo pid $(exec sh -c 'echo $PPID'); while :; do sleep 0.2; done) & exec sleep 60";
  const args = ["family", "--process-group", "--ttl", "2s", "--max-hold", "2s", "--kill-after", "200ms"];
  const { code, out, err } = await run(args, ["sh", "-c", script]);
  expect({ code, err }).toEqual({ code: 76, err: expect.stringMatching(/it was held for its --max-hold, 2000 ms$/m) });
  const pid = Number(/pid (\d+)/.exec(out)?.[1]);
  killLater(pid);
  await expect.poll(() => isAlive(pid)).toBe(false);
});

test("run: --process-group keeps the lock until every process of the group has ended", async () => {
  const script =
    "(trap 'read line <fifo' TERM; echo pid $(exec sh -c 'echo $PPID'); while :; do sleep 0.2; done) & wait";
  const folder = await reapedDirectory();
  await start("mkfifo", [join(folder, "fifo")]).ended;
  const options = { env: servers.env, cwd: folder };
  const cli = startCli(
    ["run", "late", "--node-timeout", "1500ms", "--process-group", "--", "sh", "-c", script],
    options,
  );
  await cli.prints(/pid \d+/);
  const pid = Number(/pid (\d+)/.exec(cli.out())?.[1]);
  killLater(pid);
  cli.process.kill("SIGTERM");
  const waiting = await run(["late", "--wait", "500ms"], ["true"]);
  expect(waiting.code).toBe(75);
  process.kill(pid, "SIGKILL");
  expect((await cli.ended).code).toBe(143);
  await servers.free("late");
});

test("run: --memory needs no server, and the default label is user@host[pid]", async () => {
  const outcome = await runCli(["run", "tried", "--memory", "--", "sh", "-c", "echo $HOLDFAST_OWNER"]);
  expect(outcome).toEqual({ code: 0, out: expect.stringMatching(/^\S+@\S+\[\d+\]:[0-9a-f]{32}\n$/), err: "" });
});

test("run: always exits with 78 when two of three addresses name the same server, and leaves no claim", async () => {
  const [first, second] = servers.all;
  const nodes = [
    `redis://127.0.0.1:${first?.port}`,
    `redis://127.0.0.1:${second?.port}`,
    `redis://localhost:${first?.port}`,
  ];
  for (let round = 0; round < 6; round++) {
    const outcome = await runCli(["run", "twice", "--", "true"], { env: { HOLDFAST_NODES: nodes.join() } });
    expect(outcome).toMatchObject({ code: 78, out: "", err: expect.stringContaining("it is the same server as") });
    expect(await servers.owners("twice")).toEqual(Array(5).fill(null));
  }
});
