import type { WriteStream } from "node:tty";

/** The capabilities of an output stream. */
export interface Terminal {
  /** The number of characters per line. */
  readonly width: number;
  /** Whether characters beyond ASCII can be shown: only on a terminal with a UTF-8 locale. */
  readonly isUnicode: boolean;
}

const usualWidth = 80;
/** On narrower terminals lines overflow. */
const leastWidth = 60;
/** Longer lines are harder to read. */
const greatestWidth = 100;

/** Returns the capabilities of standard output. If it is not a terminal, plain ASCII that any program can read. */
export function terminalOf(
  { isTTY, columns }: Pick<WriteStream, "isTTY" | "columns">,
  { LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv,
): Terminal {
  const locale = LC_ALL || LC_CTYPE || LANG || "";
  return {
    // Some terminals report 0.
    width: isTTY && columns > 0 ? Math.max(leastWidth, Math.min(columns, greatestWidth)) : usualWidth,
    isUnicode: isTTY && /utf-?8/i.test(locale),
  };
}
