/** For libraries of redlock's descent: attempts every 10 ms or so, for ten seconds. */
export const tunedRedlock = { retryDelay: 10, retryJitter: 5, retryCount: 1_000 } as const;

/** For redlock-universal: the same. It draws no jitter of its own. */
export const tunedUniversal = { retryDelay: 10, retryAttempts: 1_000 } as const;

/** For redis-semaphore, which tries every 10 ms for ten seconds by default. */
export const tunedSemaphore = { retryInterval: 2 } as const;
