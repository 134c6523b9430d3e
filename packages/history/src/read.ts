import { createReadStream } from "node:fs";

/** A line of a history: an event, and its fields. Those of other events are absent, and an access may have no token. */
export interface Line {
  /** When it happened, on the monotonic clock of the machine, and on its wall clock. */
  readonly atMs: number;
  readonly wallMs: number;
  readonly event: "started" | "acquired" | "extended" | "released" | "lost" | "read" | "write" | "answered";
  readonly process: string;
  readonly machine: string;
  readonly owner: string;
  readonly resources: readonly string[];
  readonly mode: "exclusive" | "shared";
  readonly fence: number;
  readonly fromMs: number;
  readonly fromWallMs: number;
  readonly validityMs: number;
  readonly id: number;
  readonly resource: string;
  readonly value: string;
  readonly outcome: "accepted" | "refused" | "unknown";
}

type Form = (value: unknown) => boolean;

const isText: Form = (value) => typeof value === "string";
const isNumber: Form = Number.isFinite;
const isTexts: Form = (value) => Array.isArray(value) && value.every(isText);
const isOneOf =
  (...values: readonly unknown[]): Form =>
  (value) =>
    values.includes(value);
const isAbsentOr =
  (form: Form): Form =>
  (value) =>
    value === undefined || form(value);

const term = { fromMs: isNumber, fromWallMs: isNumber, validityMs: isNumber };
const access = { id: isNumber, resource: isText, fence: isAbsentOr(isNumber) };

/** The fields of a line of each event. */
const fieldsOf: Readonly<Record<Line["event"], Readonly<Record<string, Form>>>> = {
  started: { format: isOneOf(1), process: isText, machine: isText },
  acquired: { owner: isText, resources: isTexts, mode: isOneOf("exclusive", "shared"), fence: isNumber, ...term },
  extended: { owner: isText, ...term },
  released: { owner: isText },
  lost: { owner: isText },
  read: access,
  write: { ...access, value: isText },
  answered: { id: isNumber, outcome: isOneOf("accepted", "refused", "unknown"), value: isAbsentOr(isText) },
};

/**
 * A file, or a line in it, that is no history, or files whose clocks cannot be compared.
 *
 * @example
 * ```ts
 * import { checkHistory, HistoryError } from "@holdfast/history";
 *
 * const verdict = await checkHistory(["missing.jsonl"]).catch((error) => {
 *   if (!(error instanceof HistoryError)) throw error;
 *   console.error(error.message); // missing.jsonl cannot be read: ENOENT
 * });
 * ```
 */
export class HistoryError extends Error {
  /** The name of the class. */
  override readonly name = "HistoryError";
  /** Identifies the error, also across copies of this package, where `instanceof` fails. */
  readonly code = "HISTORY";
}

/**
 * Reads the lines of a file, with their numbers. A process that was killed may have left its last line incomplete.
 *
 * @param onTruncated called for such a line, which is left out
 * @throws {HistoryError} naming the file and the line
 */
export async function* linesOf(file: string, onTruncated: () => void): AsyncGenerator<readonly [Line, string]> {
  let rest = "";
  let count = 0;
  try {
    for await (const chunk of createReadStream(file, "utf8")) {
      const texts = `${rest}${chunk}`.split("\n");
      rest = texts.pop() ?? "";
      for (const text of texts) {
        count += 1;
        yield [parse(text, `${file}:${count}`), `${file}:${count}`];
      }
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw error instanceof HistoryError ? error : new HistoryError(`${file} cannot be read: ${code}`, { cause: error });
  }
  if (rest !== "") onTruncated();
}

function parse(text: string, where: string): Line {
  let line: Record<string, unknown>;
  try {
    line = Object(JSON.parse(text));
  } catch {
    throw new HistoryError(`${where} is not JSON`);
  }
  const kind = String(line.event);
  if (!Object.hasOwn(fieldsOf, kind)) throw new HistoryError(`${where} has no known event`);
  const fields = { atMs: isNumber, wallMs: isNumber, ...fieldsOf[kind as Line["event"]] };
  const [wrong] = Object.entries<Form>(fields).find(([field, fits]) => !fits(line[field])) ?? [];
  if (wrong !== undefined) throw new HistoryError(`${where} has no ${wrong}, or a wrong one`);
  return line as unknown as Line;
}
