/** Resolves with `instead` if the promise rejects with an error of this class. Other rejections stay. */
export async function unless<T, U>(
  promise: PromiseLike<T>,
  // biome-ignore lint/suspicious/noExplicitAny: a class with any constructor
  condition: abstract new (...args: any[]) => Error,
  instead: U,
): Promise<T | U> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof condition) return instead;
    throw error;
  }
}
