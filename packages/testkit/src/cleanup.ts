/** The undo actions of a program, for its end, wherever it ends. */
export type Cleanup = ReturnType<typeof createCleanup>;

/** Creates an empty list. */
export function createCleanup() {
  const undos: (() => Promise<void> | void)[] = [];
  let hasRun = false;
  /** Runs all actions, the latest first. Failures do not stop the others. */
  const run = async (): Promise<void> => {
    hasRun = true;
    for (let undo = undos.pop(); undo !== undefined; undo = undos.pop()) {
      await Promise.resolve()
        .then(undo)
        .catch(() => {});
    }
  };
  return {
    /** Adds an action. After `run` it runs immediately. */
    defer(undo: () => Promise<void> | void): void {
      undos.push(undo);
      if (hasRun) void run();
    },
    run,
  };
}
