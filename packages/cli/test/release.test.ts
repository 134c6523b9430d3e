import { expect, test } from "vitest";
import { runCli, startAtTerminal, startCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

/** An owner as the library makes them, which begins with a label. */
const alice = `alice:${"a1".repeat(16)}`;

const servers = withServers(3);

/** A lock that nobody extends, as of a holder that has died. */
async function leave(resource: string, owner: string): Promise<void> {
  for (const server of servers.all) await server.command("SET", `lock:${resource}`, owner, "PX", 600_000);
}

function release(...args: string[]) {
  return runCli(["release", ...args], { env: servers.env });
}

test("release: frees what the owner holds, and tells so for each server", async () => {
  await leave("left", alice);
  await servers.all[2]?.command("DEL", "lock:left");
  const { code, out, err } = await release("left", "--owner", alice, "--yes");
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toContain("left is held by alice\n");
  expect(out).toMatch(/server +release\n(127\S+ +released\n){2}127\S+ +did not hold it\n$/);
  await servers.free("left");
});

test("release: frees nothing of another owner, and says who holds it", async () => {
  await leave("others", alice);
  const outcome = await release("others", "--owner", "bob:2", "--yes");
  expect(outcome).toMatchObject({ code: 75, err: "holdfast: bob:2 does not hold others: it is held by alice\n" });
  expect(await servers.owners("others")).toEqual([alice, alice, alice]);
});

test("release: has nothing to do for a lock that is free", async () => {
  const outcome = await release("nobodys", "--owner", "bob:2", "--yes");
  expect(outcome).toMatchObject({ code: 0, err: "holdfast: bob:2 does not hold nobodys: it is free\n" });
});

test("release: insists on --owner", async () => {
  await leave("unnamed", alice);
  const outcome = await release("unnamed", "--yes");
  expect(outcome).toMatchObject({
    code: 64,
    out: "",
    err: expect.stringContaining("Missing required argument: owner"),
  });
  expect(await servers.owners("unnamed")).toEqual([alice, alice, alice]);
});

test("release: insists on --yes where nobody can be asked", async () => {
  await leave("unasked", alice);
  const outcome = await release("unasked", "--owner", alice);
  expect(outcome).toMatchObject({ code: 64, err: expect.stringContaining("add --yes") });
  expect(await servers.owners("unasked")).toEqual([alice, alice, alice]);
});

test.each([
  { typed: "y\n", code: 0, left: null },
  { typed: "\n", code: 1, left: alice },
  { typed: "\u0004", code: 1, left: alice },
  { typed: "\u0003", code: 1, left: alice },
])("release: asked at a terminal, $typed exits with $code", async ({ typed, code, left }) => {
  await leave("asked", alice);
  const cli = startAtTerminal(["release", "asked", "--owner", alice], { env: servers.env });
  await cli.prints("Release asked on the 3 of 3 servers that hold it for this owner? [y/N]");
  cli.write(typed);
  expect((await cli.ended).code).toBe(code);
  expect(await servers.owners("asked")).toEqual([left, left, left]);
});

test("release: the holder notices, and ends its command", async () => {
  const script = 'echo "$HOLDFAST_OWNER"; exec sleep 60';
  const holder = startCli(["run", "robbed", "--ttl", "2s", "--", "sh", "-c", script], { env: servers.env });
  await holder.prints("\n");
  const owner = holder.out().trim();
  await expect.poll(() => servers.owners("robbed")).toEqual([owner, owner, owner]);
  expect((await release("robbed", "--owner", owner, "--yes")).code).toBe(0);
  expect((await holder.ended).code).toBe(76);
});
