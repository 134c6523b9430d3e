import { describeTampering } from "@holdfast/redis-testkit/describe-tampering";
import { over6 } from "./clients.ts";

describeTampering("@redis/client 6", over6);
