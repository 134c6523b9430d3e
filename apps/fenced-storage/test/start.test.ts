import { readFile } from "node:fs/promises";
import { runProgram } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { parseCommand } from "../src/storages.ts";
import { readme } from "./late-writes.ts";

const app = new URL("..", import.meta.url);

test("late writes to Redis lose an update unless the token is checked at reads and writes, as `start redis` prints", async () => {
  const { code, out, err } = await runProgram("src/main.ts", ["redis"], { cwd: app.pathname });
  expect({ code, err }).toEqual({ code: 0, err: "" });
  const [introduction = "", lines] = out.split("\nRedis\n");
  expect(lines?.match(/are lost/g)).toHaveLength(3);
  expect(await readme()).toContain(introduction);
  expect(await readme()).toContain(`Redis\n${lines}`);
});

test("parseCommand() returns all storages by default, and refuses unknown names", () => {
  expect(parseCommand([])).toEqual({ kind: "run", options: ["postgres", "http", "redis"] });
  expect(parseCommand(["http"])).toEqual({ kind: "run", options: ["http"] });
  const message = "no such storage: mongodb; choose from postgres, http, redis";
  expect(parseCommand(["http", "mongodb"])).toEqual({ kind: "bad", message });
});

test("README.md quotes the files correctly", async () => {
  const excerpts = [...(await readme()).matchAll(/```ts\n\/\/ (\S+)\n(.*?)```/gs)];
  expect(excerpts).toHaveLength((await readme()).match(/```ts/g)?.length ?? 0);
  for (const [, path = "", code] of excerpts) expect(await readFile(new URL(path, app), "utf8")).toContain(code);
});
