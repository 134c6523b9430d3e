import { describeLockNode } from "@holdfast/conformance";
import { essentials, subjectsOver } from "@holdfast/redis-testkit/subjects";
import { startRedisServer } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { over5, rival } from "./clients.ts";

const server = await startRedisServer();
afterAll(() => server.stop());

describeLockNode("ioredisNode() over ioredis 5", {
  ...essentials,
  create: subjectsOver(server.port, (port) => over5({ port }), rival("over5")),
});
