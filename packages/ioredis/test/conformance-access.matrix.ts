import { describeLockNode } from "@holdfast/conformance";
import { allow, documentedPermissions, forOperators, user } from "@holdfast/redis-testkit/permissions";
import { directSubjectsOver, noOtherWay } from "@holdfast/redis-testkit/subjects";
import { type RedisServer, redisCommand, startRedisServer, type TlsEndpoint } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { over6 } from "./clients.ts";

const server = await startRedisServer({ tls: true });
const command: RedisServer["command"] = (...args) => redisCommand(server.port, args, [["SELECT", 3]]);
afterAll(() => server.stop());
await allow(server, [...(await documentedPermissions()), ...forOperators, "+select"]);
const { port, ca } = server.tls as TlsEndpoint;

describeLockNode("ioredisNode() by TLS, as a user with the fewest permissions, in database 3", {
  create: directSubjectsOver(
    { command },
    () => over6({ host: "127.0.0.1", port, tls: { ca }, ...user, db: 3, enableReadyCheck: false }),
    "lock",
  ),
  noServer: noOtherWay,
  noOtherProcess: noOtherWay,
});
