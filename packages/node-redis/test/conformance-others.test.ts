import { describeLockNode } from "@holdfast/conformance";
import { startRedisServer } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { subjectsOver } from "../../redis/test/subjects.ts";
import { over5 } from "./clients.ts";

const { port, stop } = await startRedisServer();
afterAll(stop);

describeLockNode("nodeRedisNode() over @redis/client 5, RESP2", {
  create: subjectsOver((options) => over5(port, options, { RESP: 2 })),
});
describeLockNode("nodeRedisNode() over @redis/client 5, RESP3", {
  create: subjectsOver((options) => over5(port, options, { RESP: 3 })),
});
