/** Runs actions one after another. */
export type Turns = ReturnType<typeof createTurns>;

/** Returns a function that runs actions one after another. */
export function createTurns() {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  const inTurn = <T>(action: () => Promise<T>): Promise<T> => {
    waiting += 1;
    const result = last.then(action).finally(() => {
      waiting -= 1;
    });
    last = result.catch(() => {});
    return result;
  };
  return Object.assign(inTurn, { isIdle: () => waiting === 0 });
}
