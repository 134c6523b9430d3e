/** Things that take longer to open than most tests, such as connected clients: one test after another uses each. */
export interface Reusable<Thing> {
  /** Returns a thing that nobody uses, or opens one. */
  take(): Promise<Thing>;
  /** Lets the next test use a thing. */
  giveBack(thing: Thing): void;
  /** Ends the things that nobody uses. */
  close(): Promise<void>;
}

/** Opens things as tests need them. */
export function reusable<Thing>(open: () => Promise<Thing>, end: (thing: Thing) => Promise<void>): Reusable<Thing> {
  const unused: Thing[] = [];
  return {
    take: async () => unused.pop() ?? open(),
    giveBack: (thing) => void unused.push(thing),
    close: async () => void (await Promise.all(unused.splice(0).map(end))),
  };
}
