/** Runs actions one after another. */
export type Turns = <T>(action: () => Promise<T>) => Promise<T>;

/** Returns a function that runs actions one after another. */
export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return (action) => {
    const result = last.then(action);
    last = result.catch(() => {});
    return result;
  };
}
