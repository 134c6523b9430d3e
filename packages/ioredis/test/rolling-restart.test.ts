import { describeRollingRestart } from "../../redis/test/describe-rolling-restart.ts";
import { over6 } from "./clients.ts";

describeRollingRestart("ioredisNode()", (port, options) => over6({ port }, options));
