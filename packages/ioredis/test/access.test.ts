import { describeAccess } from "../../redis/test/describe-access.ts";
import { user } from "../../redis/test/permissions.ts";
import { over6 } from "./clients.ts";

describeAccess("ioredisNode() as a user with the fewest permissions", (port, db) =>
  over6({ port, db, ...user, enableReadyCheck: false }),
);
