import type { Figures } from "../src/measure/measures.ts";

/**
 * The limits for one lock, acquired and released on five nodes. All of them are counts, which do not depend on the machine.
 * When a change reduces a count, lower the limit to the figure of `pnpm bench --quick --only counts`, plus a percent for bytes,
 * because late replies of one count may fall into the next. When a change needs more, justify it in the commit.
 */
export const limits: Readonly<Record<string, Readonly<Record<string, Figures>>>> = {
  "holdfast/ioredis": {
    "one at a time": most(2.02, 2.02, 2_990, 4, 50),
    "100 in one tick": most(0.05, 0.05, 1_560, 4, 30),
  },
  "holdfast/node-redis": {
    "one at a time": most(2.02, 2.02, 2_990, 4, 50),
    "100 in one tick": most(0.05, 0.05, 1_560, 4, 30),
  },
  "holdfast/memory": {
    "one at a time": most(0, 0, 0, 3, 63),
    "100 in one tick": most(0, 0, 0, 3, 63),
  },
};

/** In the order of the report's columns; commands and writes are for each node. */
function most(
  commandsPerNode: number,
  writesPerNode: number,
  bytesPerLock: number,
  timersPerLock: number,
  promisesPerLock: number,
): Figures {
  return { commandsPerNode, writesPerNode, bytesPerLock, timersPerLock, promisesPerLock };
}
