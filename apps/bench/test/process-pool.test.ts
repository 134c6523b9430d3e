import { expect, onTestFinished, test } from "vitest";
import { contenderNamed } from "../src/contenders/index.ts";
import { createProcessPool } from "../src/process-pool.ts";

const program = new URL("./fixtures/measured.ts", import.meta.url);

test("ProcessPool.process() keeps processes while there is room, and replaces one that has ended", async () => {
  const [contender, other] = [contenderNamed("raw ioredis"), contenderNamed("redlock 4")];
  const pool = await createProcessPool(2, program);
  onTestFinished(() => pool.clear());
  const idOf = (one: typeof contender, number: number): Promise<number> =>
    pool.process(one, number).call("releaseOne", 30_000); // the fixture replies with its process id
  const first = await idOf(contender, 0);
  await idOf(other, 0);
  expect(await idOf(contender, 0)).toBe(first);
  const oldest = pool.process(other, 0);
  pool.process(contender, 0);
  await idOf(contender, 1);
  expect(oldest.isAlive).toBe(false);
  pool.process(contender, 0).kill();
  expect(await idOf(contender, 0)).not.toBe(first);
});
