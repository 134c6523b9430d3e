/** What an error says. Libraries also reject with what is no `Error`. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // That of an AggregateError, as for a host with several addresses, is empty.
  const message = error.message || String((error as { code?: unknown }).code ?? error.name);
  // A server that does not know AUTH or HELLO repeats the password.
  return message.replace(/, with args beginning with:.*$/s, "");
}
