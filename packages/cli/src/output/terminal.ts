import type { WriteStream } from "node:tty";

/** What can be shown on a stream. */
export interface Terminal {
  /** How many characters fit on a line. */
  readonly width: number;
  /** Whether characters beyond ASCII can be shown: at a terminal whose locale has UTF-8. */
  readonly isUnicode: boolean;
}

const usualWidth = 80;
/** On narrower terminals lines overflow. */
const leastWidth = 60;
/** Longer lines are harder to read. */
const greatestWidth = 100;

/** What standard output can show. Elsewhere than at a terminal, what any program can read. */
export function terminalOf(
  { isTTY, columns }: Pick<WriteStream, "isTTY" | "columns">,
  { LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv,
): Terminal {
  const locale = LC_ALL || LC_CTYPE || LANG || "";
  return {
    // Some terminals say 0.
    width: isTTY && columns > 0 ? Math.max(leastWidth, Math.min(columns, greatestWidth)) : usualWidth,
    isUnicode: isTTY && /utf-?8/i.test(locale),
  };
}
