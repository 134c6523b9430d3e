import { describeAccess } from "@holdfast/redis-testkit/describe-access";
import { user } from "@holdfast/redis-testkit/permissions";
import { over6By } from "./clients.ts";

describeAccess("nodeRedisNode() as a user with the fewest permissions", (port, database) =>
  over6By({ socket: { host: "127.0.0.1", port }, database, ...user }),
);
