import { fileURLToPath } from "node:url";
import { runProgram, startRedisServer } from "@holdfast/testkit";
import { expect, onTestFinished, test } from "vitest";

const cwd = fileURLToPath(new URL("fixtures", import.meta.url));

test("node-cron runs each moment in one of three processes whose clocks are seconds apart", async () => {
  const servers = await Promise.all([1, 2, 3].map(() => startRedisServer()));
  onTestFinished(async () => {
    await Promise.all(servers.map((server) => server.stop()));
  });
  const urls = servers.map(({ url }) => url).join(",");
  const runs: string[] = [];
  const outcomes = await Promise.all(
    [0, 1_700, -2_400].map((aheadMs) =>
      runProgram("host.ts", [urls, String(aheadMs)], {
        cwd,
        onOutput(text, child) {
          runs.push(...(text.match(/(?<=ran ).*/g) ?? []));
          if (runs.length > 12) child.kill();
        },
      }),
    ),
  );
  expect(outcomes.map(({ code, err }) => ({ code, err }))).toEqual(outcomes.map(() => ({ code: 0, err: "" })));
  expect(runs.toSorted()).toEqual([...new Set(runs)].toSorted());
});
