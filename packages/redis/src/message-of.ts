/** Returns the message of an error without the arguments of its command. Accepts values that are no `Error`, too. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // The message of an AggregateError is empty, as for a host with several addresses.
  const message = error.message || String((error as { code?: unknown }).code ?? error.name);
  // A server that does not know AUTH or HELLO quotes the password.
  return message.replace(/, with args beginning with:.*$/s, "");
}
