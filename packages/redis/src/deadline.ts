import { timerMaxMs } from "@holdfast/core/node";

/** Returns the usual error of a reply that is late. */
const timedOut = (): Error => new Error("timed out before the server replied");

/**
 * Settles like `reply`, or rejects with `late()` after `timeoutMs`; a reply already received wins. The time starts at
 * the next turn of the event loop, because some clients write commands only then.
 */
export function within<T>(timeoutMs: number, reply: Promise<T>, late: () => Error = timedOut): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const left = setImmediate(() => {
      timer = setTimeout(() => setImmediate(() => reject(late())), Math.min(timeoutMs, timerMaxMs));
    });
    reply.then(resolve, reject).finally(() => {
      clearImmediate(left);
      clearTimeout(timer);
    });
  });
}
