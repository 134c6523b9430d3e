import { freePort } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { startChild } from "./child.ts";
import { testServer } from "./invoice-server.ts";
import { startWorld } from "./world.ts";

testServer("nest");

test("nest has one leader, and the next one leads once that is shut down", async () => {
  const { lockUrls, dataUrl } = await startWorld();
  const start = async () => startChild("server", "nest", lockUrls, dataUrl, String(await freePort()));
  const first = await start();
  const [, term] = (await first.says(/^leads in term \d+$/)).split("term ");
  const second = await start();
  await second.says(/successfully started/);
  first.send("SIGTERM");
  const [, nextTerm] = (await second.says(/^leads in term \d+$/)).split("term ");
  expect(Number(nextTerm)).toBeGreaterThan(Number(term));
  expect(await first.ended).toBeNull(); // Nest ends the process by the same signal
});
