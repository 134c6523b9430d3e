/**
 * What the workers write to, and the lock is there to protect. It is another thing than the lock nodes, as in a real
 * system.
 */
export interface Database {
  /** Reads a counter; 0 unless it was written. */
  get(counter: string): Promise<number>;
  /** Writes a counter, whatever it holds now. */
  set(counter: string, value: number): Promise<void>;
  /** Reads a fenced counter. From then on, smaller tokens are refused. */
  getFenced(counter: string, fence: number): Promise<FencedReply>;
  /** Writes a fenced counter, and remembers the token. */
  setFenced(counter: string, fence: number, value: number): Promise<FencedReply>;
  /** What a counter of either kind holds, for those who only look. */
  look(counter: string): Promise<number>;
}

/** The value that the counter has now; or no, a larger token was seen before. */
export type FencedReply =
  | { readonly accepted: true; readonly value: number }
  | { readonly accepted: false; readonly newestFence: number };

/** One counter as a worker that holds its lock uses it. */
export interface Counter {
  read(): Promise<FencedReply>;
  write(value: number): Promise<FencedReply>;
}

/** A counter that is presented the token at every touch, or one that knows of none. */
export function counterOf(database: Database, name: string, fence: number, isFenced: boolean): Counter {
  if (isFenced) {
    return {
      read: () => database.getFenced(name, fence),
      write: (value) => database.setFenced(name, fence, value),
    };
  }
  return {
    read: async () => ({ accepted: true, value: await database.get(name) }),
    async write(value) {
      await database.set(name, value);
      return { accepted: true, value };
    },
  };
}
