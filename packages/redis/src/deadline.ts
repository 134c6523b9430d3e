/** The longest time that a timer can be set to. */
export const timerMsMax: number = 2 ** 31 - 1;

/**
 * Settles like `reply`, or rejects with `late()` after `timeoutMs`; a reply that has arrived by then wins. The time counts
 * from the next turn of the event loop, as some clients write commands only then.
 */
export function within<T>(timeoutMs: number, reply: Promise<T>, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const giveUp = (): void => void setImmediate(() => reject(late()));
    const left = setImmediate(() => {
      timer = setTimeout(giveUp, Math.min(timeoutMs, timerMsMax));
    });
    reply.then(resolve, reject).finally(() => {
      clearImmediate(left);
      clearTimeout(timer);
    });
  });
}
