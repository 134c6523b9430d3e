import { describeAccess } from "../../redis/test/describe-access.ts";
import { user } from "../../redis/test/permissions.ts";
import { over6By } from "./clients.ts";

describeAccess("nodeRedisNode() as a user with the fewest permissions", (port, database) =>
  over6By({ socket: { host: "127.0.0.1", port }, database, ...user }),
);
