import { describeLockNode } from "@holdfast/conformance";
import { allow, documentedPermissions, forOperators, user } from "@holdfast/redis-testkit/permissions";
import { directly, onCluster } from "@holdfast/redis-testkit/subjects";
import { redisCommand, startRedisCluster, startRedisServer, type TlsEndpoint } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { over5, over6By, overCluster5 } from "./clients.ts";

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
  "nodeRedisNode() by TLS, as a user with the fewest permissions, in database 3",
  directly(
    { command: (...args) => redisCommand(secure.port, args, [["SELECT", 3]]) },
    () => over6By({ socket: { host: "127.0.0.1", port, tls: true, ca }, ...user, database: 3 }),
    "lock",
  ),
);
describeLockNode(
  "nodeRedisNode() by Unix socket, with a password",
  directly({ command: (...args) => redisCommand(closed.port, args, [["AUTH", password]]) }, () =>
    over6By({ socket: { path: closed.socketPath, tls: false }, password }),
  ),
);
describeLockNode(
  "nodeRedisNode() over @redis/client 5, RESP3",
  directly(server, () => over5(server.port, undefined, { RESP: 3 })),
);
describeLockNode("nodeRedisNode() over a cluster of @redis/client 5", onCluster(ports, overCluster5));
