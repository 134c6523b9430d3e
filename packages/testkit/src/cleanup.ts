/** The undo actions of a program, for its end, wherever it ends. */
export interface Cleanup {
  /** Adds an action. After {@link run} it runs immediately. */
  defer(undo: () => Promise<void> | void): void;
  /** Runs all actions, the latest first. Failures do not stop the others. */
  run(): Promise<void>;
}

/** Creates an empty list. */
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
