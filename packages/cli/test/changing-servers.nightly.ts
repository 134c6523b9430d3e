/** Runs the commands of docs/changing-servers.md, in their order, and compares what they print. */
import { lockNames } from "@holdfast/redis";
import type { RedisServer } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { blocksOf, essence, shell } from "./support/page.ts";
import { withServers } from "./support/servers.ts";

const servers = withServers(5);

/** Watches for a shorter time than the defaults. */
const quickly = `case "$1 $2" in
  "migrate join" | "migrate end") set -- "$@" --watch-for 500ms --settle "\${SETTLE:-20s}" ;;
esac
`;

/** Empties the third server, while the others have counters of many resources. */
async function loseCounters(): Promise<void> {
  const [a, b, c] = servers.all as [RedisServer, RedisServer, RedisServer];
  for (const server of [a, b]) {
    for (let index = 0; index < 30; index++) {
      await server.command("SET", lockNames("lock:", `job-${index}`).fence, Date.now() * 1_000);
    }
  }
  await c.command("FLUSHALL");
}

test("docs/changing-servers.md: every command prints the output that is shown", async () => {
  const blocks = await blocksOf("../../docs/changing-servers.md");
  const inFolder = await shell(
    servers.all.map(({ port }) => port),
    quickly,
  );
  let runs = 0;
  for (const [index, { language, remark, text: script }] of blocks.entries()) {
    if (language !== "sh") continue;
    const fails = remark === " fails";
    expect(remark).toMatch(/^( fails)?$/);
    // The client that was forgotten.
    const words = ["run", "backup", "--env-file", "now.env", "--label", "cron", "--", "sh", "-c"];
    const hold = fails && inFolder(`exec holdfast ${words.join(" ")} 'echo locked; exec sleep 1000'`);
    if (hold) await hold.prints("locked");
    const quick = script.replace("--settle 30s", "--settle 100ms");
    const { code, out, err } = await inFolder(quick, { SETTLE: fails ? "1s" : "20s" }).ended;
    if (hold) {
      hold.process.kill("SIGTERM");
      await hold.ended;
    }
    expect({ script, code, err }).toEqual({ script, code: fails ? 1 : 0, err: expect.any(String) });
    const next = blocks[index + 1];
    if (next?.language === "text") expect(essence(out)).toBe(essence(next.text));
    runs += 1;
    if (runs === 1) await loseCounters();
  }
  expect(runs).toBe(10);
}, 240_000);
