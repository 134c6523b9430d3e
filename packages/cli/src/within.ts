/**
 * Settles like the promise, or rejects after `timeoutMs`; a later result is ignored.
 *
 * @throws {Error} on timeout, with this message
 */
export async function within<T>(
  timeoutMs: number,
  promise: Promise<T>,
  message: string = `no answer within ${timeoutMs} ms`,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), timeoutMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
