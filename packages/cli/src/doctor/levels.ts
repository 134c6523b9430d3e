/** How much can be relied on: each level holds what the one before it does, and more. */
export const levels = ["efficiency", "exclusion", "fenced"] as const;

/** See {@link levels}. */
export type Level = (typeof levels)[number];

/** What a level is called, what a lock is then good for, and what it takes. */
export interface LevelDescription {
  readonly title: string;
  readonly promise: string;
  readonly needs: string;
}

/** What each level means, for people. */
export const levelDescriptions: Readonly<Record<Level, LevelDescription>> = {
  efficiency: {
    title: "efficiency",
    promise: "Locks can be had, and keep others out most of the time: good to save work.",
    needs: "A quorum of the servers answers and grants, no server is named twice, and the options go together.",
  },
  exclusion: {
    title: "exclusion under bounded timing",
    promise: "One holder at a time, as long as clocks run at one rate and nobody acts after the end of a lock.",
    needs:
      "Every server takes part and can be looked at. None forgets who holds what: not by eviction, not by a failover to a " +
      "replica, not by a restart (`appendfsync always`, or a restart guard of at least the ttl). The clocks agree.",
  },
  fenced: {
    title: "fenced and durable",
    promise: "Tokens grow whatever crashes or is paused: storage that checks them refuses every late write.",
    needs: "Every server keeps its fence counters through a crash: `appendonly yes` with `appendfsync always`.",
  },
};

/** Whether what keeps the servers from one level keeps them from another. */
export function isAtMost(level: Level, other: Level): boolean {
  return levels.indexOf(level) <= levels.indexOf(other);
}
