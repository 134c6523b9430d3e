import { resolve } from "node:path";
import { type RedisServer, readmeExamples, runExample, startRedisServer } from "@holdfast/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { root } from "../lib/workspace.ts";

const portsOfReadme = [7001, 7002, 7003, 7004, 7005];
let servers: RedisServer[] = [];

beforeAll(async () => {
  servers = await Promise.all(portsOfReadme.map(() => startRedisServer()));
}, 60_000);

afterAll(() => Promise.all(servers.map((server) => server.stop())));

it("the README's example gets a lock over five servers", async () => {
  const [example] = await readmeExamples(resolve(root, "README.md"));
  let code = example?.code ?? "";
  for (const [index, port] of portsOfReadme.entries()) code = code.replace(`${port}`, `${servers[index]?.port}`);
  const printed = await runExample(code, resolve(root, "packages/ioredis"), 60_000);
  expect(printed).toMatch(/^alone with invoice:42 on a majority of five servers, fence \d{16}\n$/);
}, 90_000);
