import { testLateWrites } from "./late-writes.ts";

testLateWrites("redis");
