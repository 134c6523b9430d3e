import { describeLockNode } from "@holdfast/conformance";
import { directSubjectsOver, noOtherWay } from "@holdfast/redis-testkit/subjects";
import { type RedisServer, redisCommand, startRedisServer } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { over6 } from "./clients.ts";

const password = "open sesame";
const server = await startRedisServer({ args: ["--requirepass", password] });
const command: RedisServer["command"] = (...args) => redisCommand(server.port, args, [["AUTH", password]]);
afterAll(() => server.stop());

describeLockNode("ioredisNode() by Unix socket, with a password", {
  create: directSubjectsOver({ command }, () => over6({ path: server.socketPath, password })),
  noServer: noOtherWay,
  noOtherProcess: noOtherWay,
});
