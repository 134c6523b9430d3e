import { readFile, writeFile } from "node:fs/promises";
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

test("run: gives higher fences to later holders", async () => {
  const fences: number[] = [];
  for (let turn = 0; turn < 2; turn++) {
    fences.push(Number((await run(["order"], ["sh", "-c", "echo $HOLDFAST_FENCE"])).out));
  }
  expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b));
});

test("run: extends the lock for as long as the command runs", async () => {
  const cli = startRun(["extended", "--ttl", "3s", "--verbose"], untilLine);
  await cli.prints("up");
  const [first] = servers.all;
  const remaining = async (): Promise<number> => Number(await first?.command("PTTL", "lock:extended"));
  let last = await remaining();
  await expect
    .poll(async () => {
      const now = await remaining();
      const hasGrown = now > last;
      last = now;
      return hasGrown;
    })
    .toBe(true);
  cli.write("\n");
  expect((await cli.ended).code).toBe(7);
});

test("run: never lets two commands run at the same time", async () => {
  const log = join(await reapedDirectory(), "log");
  const script = 'echo "in $$" >> "$0"; sleep 0.1; echo "out $$" >> "$0"';
  const turns = Array.from(
    { length: 4 },
    () => startRun(["turns", "--wait", "forever"], ["sh", "-c", script, log]).ended,
  );
  expect((await Promise.all(turns)).map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  const lines = (await readFile(log, "utf8")).trim().split("\n");
  const pairs = lines.filter((_, index) => index % 2 === 0).map((line, index) => [line, lines[2 * index + 1]]);
  expect(pairs).toHaveLength(4);
  for (const [entry, exit] of pairs) expect(exit).toBe(entry?.replace("in", "out"));
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

test("run: exits with 127 and releases when the command is not found", async () => {
  const outcome = await run(["missing"], ["no-such-command"]);
  expect(outcome).toEqual({ code: 127, out: "", err: "holdfast: no-such-command was not found\n" });
  await servers.free("missing");
});

test("run: exits with 126 when the command cannot be executed", async () => {
  const file = join(await reapedDirectory(), "script");
  await writeFile(file, "echo never\n", { mode: 0o644 });
  const outcome = await run(["denied"], [file]);
  expect(outcome).toEqual({ code: 126, out: "", err: `holdfast: ${file} could not be executed: EACCES\n` });
});

test("run: exits with 126 or 127 when spawn() throws", async () => {
  const file = join(await reapedDirectory(), "file");
  await writeFile(file, "");
  const below = await run(["below"], [`${file}/command`]);
  expect(below).toEqual({ code: 126, out: "", err: `holdfast: ${file}/command could not be executed: ENOTDIR\n` });
  expect(await run(["none"], [""])).toEqual({ code: 127, out: "", err: 'holdfast: "" was not found\n' });
  await servers.free("none");
});

test("run: exits with 128 + the number of the signal that ended the command", async () => {
  expect((await run(["killed"], ["sh", "-c", "kill -9 $$"])).code).toBe(137);
  await servers.free("killed");
});

test("run: passes signals on to the command, and exits with its status", async () => {
  const signals = ["SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGTERM"] as const;
  const traps = signals.map((signal) => `trap 'echo ${signal}' ${signal.slice(3)}`).join("; ");
  const script = `${traps}; trap 'echo SIGTERM; exit 5' TERM; echo up; while :; do sleep 0.2; done`;
  const cli = startRun(["signals"], ["sh", "-c", script]);
  await cli.prints("up");
  for (const signal of signals) {
    cli.process.kill(signal);
    await cli.prints(signal);
  }
  expect(await cli.ended).toEqual({ code: 5, out: `up\n${signals.join("\n")}\n`, err: "" });
});

test("run: outlives a command that ignores the first SIGINT", async () => {
  const script = `trap 'n=x$n; echo "int $n"; [ $n = xx ] && exit 9' INT; echo up; while :; do sleep 0.2; done`;
  const cli = startRun(["twice"], ["sh", "-c", script]);
  await cli.prints("up");
  cli.process.kill("SIGINT");
  await cli.prints("int x\n");
  cli.process.kill("SIGINT");
  expect(await cli.ended).toMatchObject({ code: 9, out: "up\nint x\nint xx\n" });
});

test("run: exits with 128 + the number of a signal that arrives while it waits, and leaves no claim behind", async () => {
  for (const server of servers.all) await server.command("SET", "lock:waited", "somebody", "PX", 600_000);
  const waiting = startRun(["waited", "--wait", "forever", "--verbose"], ["echo", "never"]);
  await expect.poll(() => waiting.err()).toContain("waiting");
  waiting.process.kill("SIGTERM");
  expect(await waiting.ended).toMatchObject({ code: 143, out: "" });
  expect(await servers.owners("waited")).toEqual(Array(5).fill("somebody"));
});

test("run: leaves the command running and the lock to its ttl when killed by SIGKILL", async () => {
  const cli = startRun(["orphan", "--ttl", "2s"], ["sh", "-c", "echo pid $$; exec sleep 60"]);
  await cli.prints(/pid \d+\n/);
  const pid = Number(/\d+/.exec(cli.out())?.[0]);
  killLater(pid);
  cli.process.kill("SIGKILL");
  const next = await run(["orphan", "--wait", "forever"], ["echo", "next"]);
  expect(next).toMatchObject({ code: 0, out: "next\n" });
  expect(isAlive(pid)).toBe(true);
});

test("run: --max-hold ends the command with 76", async () => {
  const outcome = await run(["long", "--ttl", "2s", "--max-hold", "2s"], ["sleep", "60"]);
  expect(outcome).toMatchObject({
    code: 76,
    err: expect.stringMatching(/lost the lock, .* it was held for its --max-hold, 2000 ms/),
  });
});

test("run: --process-group ends every process of the command, even one that ignores SIGTERM", async () => {
  const script = "(trap '' TERM; echo pid $(exec sh -c 'echo $PPID'); while :; do sleep 0.2; done) & exec sleep 60";
  const args = ["family", "--process-group", "--ttl", "2s", "--max-hold", "2s", "--kill-after", "200ms"];
  const { code, out } = await run(args, ["sh", "-c", script]);
  expect(code).toBe(76);
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
