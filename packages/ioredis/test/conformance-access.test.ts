import { describeLockNode } from "@holdfast/conformance";
import { startRedisServer, type TlsEndpoint } from "@holdfast/testkit";
import { afterAll } from "vitest";
import { allow, documentedPermissions, user } from "../../redis/test/permissions.ts";
import { directSubjectsOver, noOtherWay } from "../../redis/test/subjects.ts";
import { over6 } from "./clients.ts";

const server = await startRedisServer({ tls: true });
afterAll(() => server.stop());
await allow(server, [...(await documentedPermissions()), "+select"]);
const { port, ca } = server.tls as TlsEndpoint;

describeLockNode("ioredisNode() by TLS, as a user with the fewest permissions, in database 3", {
  create: directSubjectsOver(
    (options) => over6({ port, tls: { ca }, ...user, db: 3, enableReadyCheck: false }, options),
    "lock",
  ),
  noServer: noOtherWay,
  noOtherProcess: noOtherWay,
});
