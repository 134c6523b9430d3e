import { openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { shell } from "./support/page.ts";
import {
  isAlive,
  killLater,
  packageFolder,
  runCli,
  runProcess,
  shellWords,
  start,
  startAtTerminal,
  startCli,
} from "./support/program.ts";
import { withServers } from "./support/servers.ts";

const servers = withServers(3);
const escapeCode = "\u001b";

test("--help lists the commands and the exit codes, and the options of a command", async () => {
  const general = await runCli(["--help"]);
  expect(general).toMatchObject({ code: 0, err: "" });
  expect(await runCli(["help"])).toEqual(general);
  const commands = ["run", "inspect", "list", "release"].map((name) => `holdfast ${name}`);
  for (const word of [...commands, "completion", "76", "127"]) expect(general.out).toContain(word);
  const run = await runCli(["run", "--help"]);
  expect(run).toMatchObject({ code: 0, err: "" });
  for (const word of ["--node", "--wait", "--no-wait", "--kill-after", "default: 10s"]) expect(run.out).toContain(word);
  expect(general.out + run.out).not.toContain(escapeCode);
});

test("run --help names the environment variables, and its examples run", async () => {
  const { out: help } = await runCli(["run", "--help"]);
  for (const name of ["NODES", "FENCE", "RESOURCE", "OWNER"])
    expect(help).toMatch(new RegExp(`^ +HOLDFAST_${name} +\\w`, "m"));
  const [, examples = ""] = /^Examples:\n([\s\S]+?)\n\n/m.exec(help) ?? [];
  const inFolder = await shell([]);
  const { code, out, err } = await inFolder(
    `for name in backup.sh report; do printf '#!/bin/sh\necho "$0 $@"' >$name; chmod +x $name; done\n${examples}`,
    servers.env,
  ).ended;
  expect({ code, out, err }).toEqual({
    code: 0,
    out: expect.stringMatching(/^\.\/backup\.sh \n\.\/report \d{16}\n$/),
    err: "",
  });
});

test("--version prints the version of the package", async () => {
  const { version } = JSON.parse(await readFile(`${packageFolder}package.json`, "utf8"));
  expect(await runCli(["--version"])).toEqual({ code: 0, out: `${version}\n`, err: "" });
});

test("completion: prints a script that completes commands and options in bash", async () => {
  const { code, out } = await runCli(["completion"]);
  expect(code).toBe(0);
  const bash = start("bash", [
    "-c",
    `holdfast() { ${shellWords} "$@"; }; ${out}
     complete_it() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _holdfast; echo "\${COMPREPLY[*]}"; }
     complete_it holdfast ins; complete_it holdfast run --kill
     complete_it holdfast li; complete_it holdfast list --lim; complete_it holdfast run --env`,
  ]);
  const completed = ["inspect", "--kill-after", "list", "--limit", "--env-file"];
  expect(await bash.ended).toEqual({ code: 0, out: `${completed.join("\n")}\n`, err: "" });
});

test("completion: the script is for zsh, too", async () => {
  const { out } = await runCli(["completion"]);
  const line = out.split("\n").find((each) => each.includes("bashcompinit"));
  const script = `autoload() { echo autoload "$@"; }; bashcompinit() { echo loaded; }; ${line}; ZSH_VERSION=5; ${line}`;
  expect(await start("sh", ["-ec", script]).ended).toEqual({
    code: 0,
    out: "autoload -U +X bashcompinit\nloaded\n",
    err: "",
  });
});

test("colours are used at a terminal or with FORCE_COLOR, and not with NO_COLOR or in a pipe", async () => {
  const atTerminal = await startAtTerminal(["inspect", "colour"], { env: servers.env }).ended;
  const refused = await startAtTerminal(["inspect", "colour"], { env: { ...servers.env, NO_COLOR: "1" } }).ended;
  const piped = await runProcess(["inspect", "colour"], { env: { ...servers.env, CI: "true" } });
  const forced = await runProcess(["inspect", "colour"], { env: { ...servers.env, FORCE_COLOR: "1" } });
  expect(atTerminal.out).toContain(escapeCode);
  expect(refused.out).toContain("colour is free");
  expect(refused.out + piped.out).not.toContain(escapeCode);
  expect(forced.out).toContain(escapeCode);
});

test("inspect: --watch replaces its report at a terminal, until Ctrl-C", async () => {
  const cli = startAtTerminal(["inspect", "drawn", "--watch", "--interval", "20ms"], { env: servers.env });
  const cleared = `${escapeCode}[1;1H${escapeCode}[0J`;
  await expect
    .poll(() => cli.out().split(`${cleared}${escapeCode}[1mdrawn${escapeCode}[22m is`).length)
    .toBeGreaterThan(3);
  for (const server of servers.all) await server.command("SET", "lock:drawn", "alice:1", "PX", 60_000);
  await cli.prints("by alice");
  cli.write("\u0003");
  expect((await cli.ended).code).toBe(130);
});

test("inspect: --watch prints every change at a terminal that cannot be cleared", async () => {
  const env = { ...servers.env, TERM: "dumb" };
  const cli = startAtTerminal(["inspect", "plain", "--watch", "--interval", "20ms"], { env });
  await cli.prints("is free");
  await sleep(200);
  for (const server of servers.all) await server.command("SET", "lock:plain", "alice:1", "PX", 60_000);
  await cli.prints("by alice");
  expect(cli.out().match(/plain\b.* is free/g)).toHaveLength(1);
  cli.write("\u0003");
  expect((await cli.ended).code).toBe(130);
});

test("run: Ctrl-C at a terminal reaches the command once", async () => {
  const script = `trap 'echo "<int>"' INT; echo up; read a; read b; echo done`;
  const cli = startAtTerminal(["run", "keys", "--", "sh", "-c", script], { env: servers.env });
  await cli.prints("up");
  cli.write("\u0003");
  await cli.prints("<int>");
  cli.write("\n\n");
  const { code, out } = await cli.ended;
  expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining("done") });
  expect(out.split("<int>")).toHaveLength(2);
});

test("run: Ctrl-C also reaches a command in its own process group", async () => {
  const script = `trap 'echo "<int>"; exit 4' INT; echo up; while :; do sleep 0.05; done`;
  const args = ["run", "group-keys", "--process-group", "--", "sh", "-c", script];
  const cli = startAtTerminal(args, { env: servers.env });
  await cli.prints("up");
  cli.write("\u0003");
  expect(await cli.ended).toMatchObject({ code: 4, out: expect.stringContaining("<int>") });
});

test("run: tells a person at a terminal why it waits", async () => {
  for (const server of servers.all) await server.command("SET", "lock:slow", "alice:1", "PX", 600_000);
  const cli = startAtTerminal(["run", "slow", "--wait", "forever", "--", "true"], { env: servers.env });
  await cli.prints("holdfast: waiting for slow: another owner holds it");
  cli.write("\u0003");
  expect((await cli.ended).code).toBe(130);
});

test("run: releases the lock when its terminal closes", async () => {
  const cli = startAtTerminal(["run", "gone", "--verbose", "--", "sh", "-c", "echo pid $$; exec sleep 60"], {
    env: servers.env,
  });
  await cli.prints(/pid \d+/);
  const pid = Number(/pid (\d+)/.exec(cli.out())?.[1]);
  killLater(pid);
  cli.process.kill("SIGKILL");
  await servers.free("gone");
  expect(isAlive(pid)).toBe(false);
});

test("a reader that has gone ends holdfast silently, as SIGPIPE would", async () => {
  const cli = startCli(["inspect", "unread"], { env: servers.env });
  cli.process.stdout?.destroy();
  expect(await cli.ended).toMatchObject({ code: 141, err: "" });
});

test("output that cannot be written ends holdfast with 74 and one line", async () => {
  const full = openSync("/dev/full", "w");
  const cli = startCli(["inspect", "full"], { env: servers.env, stdio: ["ignore", full, "pipe"] });
  expect(await cli.ended).toMatchObject({ code: 74, err: "holdfast: could not write to standard output: ENOSPC\n" });
});

test("closed standard streams do not change the exit code", async () => {
  const script = `${shellWords} inspect closed >&-; echo $?; ${shellWords} run closed --verbose -- sh -c 'exit 3' <&- >&- 2>&-; echo $?`;
  expect(await start("sh", ["-c", script], { env: servers.env }).ended).toEqual({ code: 0, out: "0\n3\n", err: "" });
});

test("run: does not end the command when standard error cannot be written", async () => {
  const full = openSync("/dev/full", "w");
  const cli = startCli(["run", "mute", "--verbose", "--", "sh", "-c", "echo up; read line; echo done"], {
    env: servers.env,
    stdio: ["pipe", "pipe", full],
  });
  await cli.prints("up");
  cli.write("\n");
  expect(await cli.ended).toMatchObject({ code: 0, out: "up\ndone\n" });
});
