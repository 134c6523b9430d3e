import { expect, test } from "vitest";
import { program, runCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

const servers = withServers(3);

/** Runs a command under the lock of a resource, with `verify` as the name of this program's command. */
function underLock(resource: string, script: string) {
  const verify = `${process.execPath} ${program} verify ${resource}`;
  return runCli(["run", resource, "--", "sh", "-c", script.replaceAll("VERIFY", verify)], { env: servers.env });
}

/** Takes and releases the lock, and returns its owner and fence. */
async function lockOnce(resource: string): Promise<readonly [owner: string, fence: string]> {
  const { out } = await underLock(resource, 'echo "$HOLDFAST_OWNER $HOLDFAST_FENCE"');
  await servers.free(resource);
  return out.trim().split(" ") as unknown as readonly [string, string];
}

function verify(...args: string[]) {
  return runCli(["verify", ...args], { env: servers.env });
}

test("verify: exits with 0 while the lock is held, and with 1 once it has ended", async () => {
  const held = await underLock("r", 'VERIFY "$HOLDFAST_OWNER" "$HOLDFAST_FENCE"');
  expect(held).toMatchObject({ code: 0, err: "" });
  expect(held.out).toMatch(/^the lock on r with fence \d+ is held, for \d+s unless it is extended\n/);
  for (const { port } of servers.all) expect(held.out).toMatch(new RegExp(`127\\.0\\.0\\.1:${port} +yes +\\d+`));
  await servers.free("r");
  const [owner, fence] = await lockOnce("r");
  const ended = await verify("r", owner, fence);
  expect(ended).toMatchObject({ code: 1, err: "" });
  expect(ended.out).toContain(`the lock on r with fence ${fence} is not held: no majority of the servers has it\n`);
  for (const { port } of servers.all) expect(ended.out).toMatch(new RegExp(`127\\.0\\.0\\.1:${port} +no +${fence}`));
});

test("verify: --json prints one line", async () => {
  const [owner, text] = await lockOnce("json");
  const fence = Number(text);
  const { code, out } = await verify("json", owner, text, "--json");
  expect(code).toBe(1);
  expect(out.trim().split("\n")).toHaveLength(1);
  const nodes = servers.all.map(({ port }) => ({ node: `127.0.0.1:${port}`, holds: false, fence, error: null }));
  const state = "not-held";
  expect(JSON.parse(out)).toEqual({ resource: "json", owner, fence, state, remainingMs: null, nodes });
});

test("verify: exits with 69 when too few servers reply", async () => {
  const [port] = servers.all.map((server) => server.port);
  const nodes = [`--node=127.0.0.1:${port}`, "--node=127.0.0.1:1", "--node=127.0.0.1:2"];
  const script = `VERIFY "$HOLDFAST_OWNER" "$HOLDFAST_FENCE" ${nodes.join(" ")}`;
  const few = await underLock("few", `unset HOLDFAST_NODES; ${script}`);
  expect(few.code).toBe(69);
  expect(few.out).toMatch(
    /^the lock on few with fence \d+ cannot be verified: 1 of 3 servers answered, too few to tell\n/,
  );
});
