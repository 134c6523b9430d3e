import { describeRollingRestart } from "@holdfast/redis-testkit/describe-rolling-restart";
import { over6 } from "./clients.ts";

describeRollingRestart("ioredisNode()", (port, options) => over6({ port }, options));
