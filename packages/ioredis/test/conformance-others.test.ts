import { describeLockNode } from "@holdfast/conformance";
import { startRedisServer } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { subjectsOver } from "../../redis/test/subjects.ts";
import { over5, overValkey } from "./clients.ts";

const { port, stop } = await startRedisServer();
afterAll(stop);

describeLockNode("ioredisNode() over ioredis 5", { create: subjectsOver((options) => over5({ port }, options)) });
describeLockNode("ioredisNode() over iovalkey", { create: subjectsOver((options) => overValkey({ port }, options)) });
