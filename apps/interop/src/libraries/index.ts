import { holdfastOverIoredis, holdfastOverNodeRedis } from "./holdfast.ts";
import type { Library } from "./library.ts";
import { redisSemaphore } from "./redis-semaphore.ts";
import { redlockUniversal } from "./redlock-universal.ts";
import { redlock4 } from "./redlock4.ts";
import { redlock5, sesamecare } from "./redlock5.ts";

/** The other libraries. */
export const theirs: readonly Library[] = [redlock4, redlock5, sesamecare, redisSemaphore, redlockUniversal];

/** All libraries that can contend for the same keys. */
export const libraries: readonly Library[] = [holdfastOverIoredis, holdfastOverNodeRedis, ...theirs];
