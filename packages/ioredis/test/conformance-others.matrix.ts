import { describeLockNode } from "@holdfast/conformance";
import { allow, documentedPermissions, forOperators, user } from "@holdfast/redis-testkit/permissions";
import { directly, onCluster, subjectsOver } from "@holdfast/redis-testkit/subjects";
import { redisCommand, startRedisCluster, startRedisServer, type TlsEndpoint } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { over6, overCluster5, overValkey, overValkeyCluster, rival } from "./clients.ts";

const password = "open sesame";
const server = await startRedisServer();
const closed = await startRedisServer({ args: ["--requirepass", password] });
const secure = await startRedisServer({ tls: true });
const cluster = await startRedisCluster(3);
afterAll(() => Promise.all([server, closed, secure, cluster].map((each) => each.stop())));
await allow(secure, [...(await documentedPermissions()), ...forOperators, "+select"]);
const { port, ca } = secure.tls as TlsEndpoint;
const ports = cluster.servers.map((each) => each.port);

describeLockNode(
  "ioredisNode() by TLS, as a user with the fewest permissions, in database 3",
  directly(
    { command: (...args) => redisCommand(secure.port, args, [["SELECT", 3]]) },
    () => over6({ host: "127.0.0.1", port, tls: { ca }, ...user, db: 3, enableReadyCheck: false }),
    "lock",
  ),
);
describeLockNode(
  "ioredisNode() by Unix socket, with a password",
  directly({ command: (...args) => redisCommand(closed.port, args, [["AUTH", password]]) }, () =>
    over6({ path: closed.socketPath, password }),
  ),
);
describeLockNode("ioredisNode() over iovalkey", {
  create: subjectsOver(server.port, (ownPort) => overValkey({ port: ownPort }), rival("overValkey")),
});
describeLockNode("ioredisNode() over a Cluster of ioredis 5", onCluster(ports, overCluster5));
describeLockNode("ioredisNode() over a Cluster of iovalkey", onCluster(ports, overValkeyCluster));
