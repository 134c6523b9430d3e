/** What an error says. Libraries also reject with what is no `Error`. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // That of an AggregateError, as for a host with several addresses, is empty.
  return error.message || String((error as { code?: unknown }).code ?? error.name);
}
