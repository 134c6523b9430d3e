/** Says what a value is, for a message about it. Never throws. */
export function describe(value: unknown): string {
  try {
    return typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value)).slice(0, 200);
  } catch {
    return `an unreadable ${typeof value}`;
  }
}
