/** The likely mistakes that messages already name, by error. */
const mistakes = new WeakMap<object, string>();

/**
 * Returns the likely mistake behind a failure. If none is known, the message of a rejection or of a malformed reply says
 * what is wrong; that of another failure says only which values differ, so the result is undefined.
 */
export function mistakeBehind(failure: unknown): string | undefined {
  if (!(failure instanceof Error)) return String(failure);
  return mistakes.get(failure) ?? (failure.name === "AssertionError" ? undefined : failure.message.split("\n", 1)[0]);
}

/** Returns an error whose message starts with the likely mistake, as the test knows it. */
export function named(mistake: string, message: string): Error {
  const error = new Error(`${mistake}: ${message}`);
  mistakes.set(error, mistake);
  return error;
}

/** Puts the likely mistake before the error's message, unless a rejection or the test already says what is wrong. */
export function withMistake(error: unknown, mistake: string | undefined): unknown {
  if (mistake === undefined || !(error instanceof Error) || error.cause !== undefined || mistakes.has(error)) {
    return error;
  }
  mistakes.set(error, mistake);
  const { message } = error;
  error.message = `${mistake}: ${message}`;
  // Node.js copies the message into the stack when it creates the error.
  error.stack = (error.stack ?? "").replace(message, () => error.message);
  return error;
}
