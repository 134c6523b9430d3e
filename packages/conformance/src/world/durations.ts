/** A minute, in milliseconds. */
export const minuteMs = 60_000;

/** A day, in milliseconds. */
export const dayMs: number = 24 * 60 * minuteMs;

/** Thirty days, in milliseconds: more than a timer of 32 bits can count. */
export const thirtyDaysMs: number = 30 * dayMs;

/** A ttl that does not end during a test, even on a slow machine. */
export const longMs: number = 10 * minuteMs;

/** How long lasting claims and counters are at least left untouched. Other tests fill this time. */
export const lastingMs = 5_000;
