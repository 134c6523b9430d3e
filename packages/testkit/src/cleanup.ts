/** What must be undone at the end, however far the run has come. */
export interface Cleanup {
  /** Adds something to undo; it is undone at once when the end has come already. */
  defer(undo: () => Promise<void> | void): void;
  /** Undoes everything, the latest first. What fails does not keep the rest from being undone. */
  run(): Promise<void>;
}

/** Makes an empty list. */
export function createCleanup(): Cleanup {
  const undos: (() => Promise<void> | void)[] = [];
  let hasRun = false;
  const run = async (): Promise<void> => {
    hasRun = true;
    for (let undo = undos.pop(); undo !== undefined; undo = undos.pop()) {
      await Promise.resolve()
        .then(undo)
        .catch(() => {});
    }
  };
  return {
    defer(undo) {
      undos.push(undo);
      if (hasRun) void run();
    },
    run,
  };
}
