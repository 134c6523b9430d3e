import { describeLockNode } from "@holdfast/conformance";
import { directly, onCluster, serversByWay } from "@holdfast/redis-testkit/subjects";
import { over5, over6By, overCluster5 } from "./clients.ts";

const { server, tls, socket, ports } = await serversByWay();

describeLockNode(
  "nodeRedisNode() by TLS, as a user with the fewest permissions, in database 3",
  directly(
    tls.commands,
    () => over6By({ socket: { host: "127.0.0.1", port: tls.port, tls: true, ca: tls.ca }, ...tls.user, database: 3 }),
    "lock",
  ),
);
describeLockNode(
  "nodeRedisNode() by Unix socket, with a password",
  directly(socket.commands, () => over6By({ socket: { path: socket.path, tls: false }, password: socket.password })),
);
describeLockNode(
  "nodeRedisNode() over @redis/client 5, RESP3",
  directly(server, () => over5(server.port, undefined, { RESP: 3 })),
);
describeLockNode("nodeRedisNode() over a cluster of @redis/client 5", onCluster(ports, overCluster5));
