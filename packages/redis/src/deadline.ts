/** The longest time that a timer can be set to. */
export const timerMsMax: number = 2 ** 31 - 1;

/** The same, unless it takes too long: then it rejects with what `late` makes. What has arrived by then still counts. */
export function within<T>(timeoutMs: number, reply: Promise<T>, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => void setImmediate(() => reject(late()));
    const timer = setTimeout(giveUp, Math.min(timeoutMs, timerMsMax));
    reply.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
