import { describeGarbage } from "@holdfast/redis-testkit/describe-garbage";

describeGarbage("ioredisNode()", new URL("./fixtures/lock-pairs.ts", import.meta.url));
