import { describeRollingRestart } from "../../redis/test/describe-rolling-restart.ts";
import { over6 } from "./clients.ts";

describeRollingRestart("nodeRedisNode()", over6);
