import { describeAccess } from "@holdfast/redis-testkit/describe-access";
import { user } from "@holdfast/redis-testkit/permissions";
import { over6 } from "./clients.ts";

describeAccess("ioredisNode() as a user with the fewest permissions", (port, db) =>
  over6({ port, db, ...user, enableReadyCheck: false }),
);
