import { describeTampering } from "../../redis/test/describe-tampering.ts";
import { over6 } from "./clients.ts";

describeTampering("ioredis 6", (port, options) => over6({ port }, options));
