import ms from "ms";

/** Formats a latency or clock difference with two significant digits: `0.21 ms`, `4.6 ms`, `35 ms`, `1.2 s`. */
export function shortMs(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.5) return longMs(value);
  return `${value.toFixed(size < 0.995 ? 2 : size < 9.95 ? 1 : 0)} ms`;
}

/** Formats a duration that a person has chosen or waits for: `250 ms`, `1.5 s`, `90 s`, `3 d`. */
export function longMs(value: number): string {
  const size = Math.abs(value);
  if (size < 999.5) return `${Math.round(value)} ms`;
  return size < 120_000 ? `${Number((value / 1_000).toFixed(1))} s` : ms(value).replace(/(\d)([a-z])/, "$1 $2");
}

/** Joins words: `a`, `a and b`, `a, b and c`. */
export function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** Returns the width of lines at this terminal; longer ones would be harder to read. */
export function lineWidth(elsewhere: number): number {
  return Math.min(100, process.stdout.columns || elsewhere); // some terminals report 0
}

/** Breaks a text into lines. A word that is longer than a line gets its own. */
export function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}
