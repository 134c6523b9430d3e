import { describeLockNode } from "@holdfast/conformance";
import { subjectsOver } from "@holdfast/redis-testkit/subjects";
import { startRedisServer } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { overValkey } from "./clients.ts";

const server = await startRedisServer();
afterAll(() => server.stop());

describeLockNode("ioredisNode() over iovalkey", {
  create: subjectsOver(server.port, (port) => overValkey({ port }), {
    url: new URL("./fixtures/rival.ts", import.meta.url),
    client: "overValkey",
  }),
});
