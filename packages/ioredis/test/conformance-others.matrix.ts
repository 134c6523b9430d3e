import { describeLockNode } from "@holdfast/conformance";
import { directly, onCluster, serversByWay, subjectsOver } from "@holdfast/redis-testkit/subjects";
import { over6, overCluster5, overValkey, overValkeyCluster, rival } from "./clients.ts";

const { server, tls, socket, ports } = await serversByWay();

describeLockNode(
  "ioredisNode() by TLS, as a user with the fewest permissions, in database 3",
  directly(
    tls.commands,
    () =>
      over6({ host: "127.0.0.1", port: tls.port, tls: { ca: tls.ca }, ...tls.user, db: 3, enableReadyCheck: false }),
    "lock",
  ),
);
describeLockNode(
  "ioredisNode() by Unix socket, with a password",
  directly(socket.commands, () => over6({ path: socket.path, password: socket.password })),
);
describeLockNode("ioredisNode() over iovalkey", {
  create: subjectsOver(server.port, (ownPort) => overValkey({ port: ownPort }), rival("overValkey")),
});
describeLockNode("ioredisNode() over a Cluster of ioredis 5", onCluster(ports, overCluster5));
describeLockNode("ioredisNode() over a Cluster of iovalkey", onCluster(ports, overValkeyCluster));
