import { describeTampering } from "../../redis/test/describe-tampering.ts";
import { over6 } from "./clients.ts";

describeTampering("@redis/client 6", over6);
