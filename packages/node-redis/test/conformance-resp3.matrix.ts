import { describeLockNode } from "@holdfast/conformance";
import { directSubjectsOver, noOtherProtocol } from "@holdfast/redis-testkit/subjects";
import { startRedisServer } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { over5 } from "./clients.ts";

const server = await startRedisServer();
afterAll(() => server.stop());

describeLockNode("nodeRedisNode() over @redis/client 5, RESP3", {
  create: directSubjectsOver(server, () => over5(server.port, undefined, { RESP: 3 })),
  noServer: noOtherProtocol,
  noOtherProcess: noOtherProtocol,
});
