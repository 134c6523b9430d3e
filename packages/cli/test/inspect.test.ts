import { expect, test } from "vitest";
import { holdLock, runCli, startCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

const servers = withServers(3);

function inspect(...args: string[]) {
  return runCli(["inspect", ...args], { env: servers.env });
}

test("inspect: shows the holder of a lock, by majority and by server", async () => {
  const { owner, fence, end } = await holdLock(["held", "--label", "alice"], servers.env);
  await expect.poll(() => servers.owners("held")).toEqual([owner, owner, owner]);
  const { code, out, err } = await inspect("held");
  await end();
  const [verdict, ...lines] = out.split("\n");
  expect({ code, err, verdict }).toEqual({ code: 0, err: "", verdict: "held is held by alice" });
  expect(lines.slice(0, 2)).toEqual([`  owner      ${owner}`, `  fence      ${fence}`]);
  expect(lines[2]).toMatch(/^ {2}remaining {2}\d+s$/);
  expect(lines[4]).toMatch(/^server +held by +remaining +fence$/);
  for (const [index, { port }] of servers.all.entries()) {
    expect(lines[5 + index]).toMatch(new RegExp(`^127\\.0\\.0\\.1:${port} +alice +\\d+s +${fence}$`));
  }
  expect(lines.slice(8)).toEqual([""]);
});

test("inspect: shows that a lock is free, and its last fence", async () => {
  const { out: fence } = await runCli(["run", "freed", "--", "sh", "-c", "echo $HOLDFAST_FENCE"], { env: servers.env });
  await servers.free("freed");
  const { code, out } = await inspect("freed");
  expect(code).toBe(0);
  expect(out).toContain(`freed is free\n  fence      ${fence.trim()}, the highest so far\n`);
});

test("inspect: --json prints one line with the same keys for a held and a free lock", async () => {
  const { owner, fence, end } = await holdLock(["json", "--label", "alice"], servers.env);
  await expect.poll(() => servers.owners("json")).toEqual([owner, owner, owner]);
  const held = await inspect("json", "--json");
  await end();
  const free = await inspect("untouched", "--json");
  const remainingMs = expect.any(Number);
  const names = servers.all.map(({ port }) => `127.0.0.1:${port}`);
  const unused = { sharers: null, floor: null, recoveringMs: null, error: null };
  expect(held.out.trim().split("\n")).toHaveLength(1);
  expect(JSON.parse(held.out)).toEqual({
    ...{ resource: "json", state: "held", mode: "exclusive", owner, label: "alice", remainingMs, fence: Number(fence) },
    holders: [{ owner, label: "alice", remainingMs }],
    nodes: names.map((node) => ({ ...unused, node, owner, remainingMs, fence: Number(fence) })),
  });
  expect(JSON.parse(free.out)).toEqual({
    ...{ resource: "untouched", state: "free", mode: null, owner: null, label: null, remainingMs: null, fence: 0 },
    holders: [],
    nodes: names.map((node) => ({ ...unused, node, owner: null, remainingMs: null, fence: 0 })),
  });
});

test("inspect: shows a claim that a minority holds, and a claim without a ttl", async () => {
  await servers.all[0]?.command("SET", "lock:odd", "somebody");
  const { code, out } = await inspect("odd");
  expect(code).toBe(0);
  expect(out).toContain("odd is free\n");
  expect(out).toMatch(/somebody +no end/);
});

test("inspect: replaces control characters in values of servers", async () => {
  for (const server of servers.all) await server.command("SET", "lock:evil", "\u001b[2Jboo:1", "PX", 60_000);
  const { out } = await inspect("evil");
  expect(out).toContain("evil is held by \uFFFD[2Jboo");
  expect(out).not.toContain("\u001b");
});

test("inspect: --watch prints every change into a pipe, without control characters", async () => {
  const watching = startCli(["inspect", "watched", "--watch", "--interval", "20ms"], { env: servers.env });
  await watching.prints("watched is free");
  for (const server of servers.all) await server.command("SET", "lock:watched", "alice:1", "PX", 600_000);
  await watching.prints("watched is held by alice");
  for (const server of servers.all) await server.command("DEL", "lock:watched");
  await watching.prints(/held by alice[\s\S]*watched is free/);
  watching.process.kill("SIGINT");
  const { code, out, err } = await watching.ended;
  expect({ code, err }).toEqual({ code: 130, err: "" });
  expect(out).not.toContain("\u001b");
});

test("inspect: --watch --json prints a line for each change", async () => {
  const watching = startCli(["inspect", "lines", "--watch", "--json", "--interval", "20ms"], { env: servers.env });
  await watching.prints('"state":"free"');
  for (const server of servers.all) await server.command("SET", "lock:lines", "alice:1", "PX", 600_000);
  await watching.prints('"state":"held"');
  watching.process.kill("SIGTERM");
  const { code, out } = await watching.ended;
  expect(code).toBe(143);
  const states = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).state);
  expect(states[0]).toBe("free");
  expect(states).toContain("held");
});
