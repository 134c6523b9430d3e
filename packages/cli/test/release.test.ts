import { expect, test } from "vitest";
import { runCli, startCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

/** An owner as the library generates it, with a label. */
const alice = `alice:${"a1".repeat(16)}`;

const servers = withServers(3);

/** Leaves a lock that is never extended, like that of a holder that has died. */
async function leave(resource: string, owner: string): Promise<void> {
  for (const server of servers.all) await server.command("SET", `lock:${resource}`, owner, "PX", 600_000);
}

function release(...args: string[]) {
  return runCli(["release", ...args], { env: servers.env });
}

test("release: releases the lock of the owner, and reports the result for each server", async () => {
  await leave("left", alice);
  await servers.all[2]?.command("DEL", "lock:left");
  const { code, out, err } = await release("left", "--owner", alice);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toContain("left is held by alice\n");
  expect(out).toMatch(/server +release\n(127\S+ +released\n){2}127\S+ +did not hold it\n$/);
  await servers.free("left");
});

test("release: does not release the lock of another owner, and names the holder", async () => {
  await leave("others", alice);
  const outcome = await release("others", "--owner", "bob:2");
  expect(outcome).toMatchObject({ code: 75, err: "holdfast: bob:2 does not hold others: it is held by alice\n" });
  expect(await servers.owners("others")).toEqual([alice, alice, alice]);
});

test("release: exits with 0 when the lock is free", async () => {
  const outcome = await release("nobodys", "--owner", "bob:2");
  expect(outcome).toMatchObject({ code: 0, err: "holdfast: bob:2 does not hold nobodys: it is free\n" });
});

test("release: makes the holder notice the loss and end its command", async () => {
  const script = 'echo "$HOLDFAST_OWNER"; exec sleep 60';
  const holder = startCli(["run", "robbed", "--ttl", "2s", "--", "sh", "-c", script], { env: servers.env });
  await holder.prints("\n");
  const owner = holder.out().trim();
  await expect.poll(() => servers.owners("robbed")).toEqual([owner, owner, owner]);
  expect((await release("robbed", "--owner", owner)).code).toBe(0);
  expect((await holder.ended).code).toBe(76);
});
