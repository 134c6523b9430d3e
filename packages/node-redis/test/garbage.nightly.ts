import { describeGarbage } from "@holdfast/redis-testkit/describe-garbage";

describeGarbage("nodeRedisNode()", new URL("./fixtures/lock-pairs.ts", import.meta.url));
