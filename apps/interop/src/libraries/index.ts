import { holdfastOverIoredis, holdfastOverNodeRedis } from "./holdfast.ts";
import type { Library } from "./library.ts";
import { theirs } from "./others.ts";

/** All libraries that can contend for the same keys. */
export const libraries: readonly Library[] = [holdfastOverIoredis, holdfastOverNodeRedis, ...theirs];
