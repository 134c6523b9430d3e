import { describeTampering } from "@holdfast/redis-testkit/describe-tampering";
import { over6 } from "./clients.ts";

describeTampering("ioredis 6", (port, options) => over6({ port }, options));
