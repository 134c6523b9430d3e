import { runProgram } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { open, start } from "../src/sqlite/accounts.ts";
import { openDatabase, readBalance, writeBalance } from "../src/sqlite/fenced-rows.ts";
import { testLateWrites } from "./late-writes.ts";

testLateWrites("sqlite");

test("readBalance() makes the row refuse older tokens from then on, in every connection", async () => {
  const path = await start();
  const [one, other] = [await openDatabase(path), await openDatabase(path)];
  one.exec("INSERT INTO accounts VALUES ('7', 100, 0)");
  expect(await readBalance(one, "7", Number.MAX_SAFE_INTEGER)).toBe(100);
  const fence = Number.MAX_SAFE_INTEGER - 1;
  const refusal = { code: "STALE_FENCE", key: "7", fence, newestFence: fence + 1 };
  await expect(writeBalance(other, "7", 70, fence)).rejects.toMatchObject(refusal);
  await expect(readBalance(other, "7", fence)).rejects.toMatchObject(refusal);
  await expect(readBalance(other, "8", fence)).rejects.toThrow("there is no such row");
  for (const database of [one, other]) database.close();
});

test("writeBalance() of two concurrent processes never writes an older token after a newer one", async () => {
  const path = await start();
  const accounts = await open(path);
  for (const id of ["7", "writer 1", "writer 2"]) await accounts.create(id, 0);
  const cwd = new URL("..", import.meta.url).pathname;
  const program = new URL("./fixtures/write-tokens.ts", import.meta.url).pathname;
  let areDone = false;
  const writers = Promise.all(["1", "2"].map((first) => runProgram(program, [path, first], { cwd })));
  const settled = writers.finally(() => {
    areDone = true;
  });
  // Each write sets the balance to its token.
  const seen: number[] = [];
  while (!areDone) {
    seen.push(await accounts.read("7"));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const outcomes = await settled;
  for (const outcome of outcomes) expect(outcome).toEqual({ code: 0, out: "", err: "" });
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  expect(await accounts.read("7")).toBe(200);
  await accounts.close();
});
