/** The data that the lock protects. It is separate from the lock nodes, as in a real system. */
export interface Database {
  /** Reads a counter: 0 if it was never written. */
  get(counter: string): Promise<number>;
  /** Writes a counter, whatever its value. */
  set(counter: string, value: number): Promise<void>;
  /** Reads a fenced counter. From then on it refuses smaller tokens. */
  getFenced(counter: string, fence: number): Promise<FencedReply>;
  /** Writes a fenced counter, and remembers the token. */
  setFenced(counter: string, fence: number, value: number): Promise<FencedReply>;
  /** Returns the value of a counter of either kind, without a token. */
  look(counter: string): Promise<number>;
}

/** The new value of the counter, or the larger token for which it refused. */
export type FencedReply =
  | { readonly accepted: true; readonly value: number }
  | { readonly accepted: false; readonly newestFence: number };

/** A counter, as used by a worker that holds its lock. */
export interface Counter {
  read(): Promise<FencedReply>;
  write(value: number): Promise<FencedReply>;
}

/** Returns a counter that is shown the token at every access, or a plain one. */
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
