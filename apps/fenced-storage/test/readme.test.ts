import { readFile } from "node:fs/promises";
import { runProgram } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { readme } from "./late-writes.ts";

const app = new URL("..", import.meta.url);

test("README.md: each excerpt is in the file that it names", async () => {
  const excerpts = [...(await readme()).matchAll(/```ts\n\/\/ (\S+)\n(.*?)```/gs)];
  expect(excerpts).toHaveLength((await readme()).match(/```ts/g)?.length ?? 0);
  for (const [, path = "", code] of excerpts) expect(await readFile(new URL(path, app), "utf8")).toContain(code);
});

test("README.md: `start` prints what it says, of the storages that are named", async () => {
  const { code, out, err } = await runProgram("src/main.ts", ["redis"], { cwd: app.pathname });
  expect(err).toBe("");
  expect(code).toBe(0);
  const [introduction = "", lines] = out.split("\nRedis\n");
  expect(await readme()).toContain(introduction);
  expect(await readme()).toContain(`Redis\n${lines}`);
});

test("`start` exits with 2 for what is no storage, and tells which there are", async () => {
  const { code, err } = await runProgram("src/main.ts", ["mongodb"], { cwd: app.pathname });
  expect(code).toBe(2);
  expect(err).toBe("no such storage: mongodb; there are postgres, sqlite, http, redis\n");
});
