import { createReadStream } from "node:fs";

/** A line of a history: an event, and its fields. Those of other events are absent, and an access may have no token. */
export interface Line {
  /** When it happened, on the monotonic clock of the machine, and on its wall clock. */
  readonly atMs: number;
  readonly wallMs: number;
  readonly event: keyof typeof fieldsOf;
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

/** The fields that a line of each event has at least. */
const fieldsOf = {
  started: ["format", "process", "machine"],
  acquired: ["owner", "resources", "mode", "fence", "fromMs", "fromWallMs", "validityMs"],
  extended: ["owner", "fromMs", "fromWallMs", "validityMs"],
  released: ["owner"],
  lost: ["owner"],
  read: ["id", "resource"],
  write: ["id", "resource", "value"],
  answered: ["id", "outcome"],
} as const;

/** The type of each field, or its possible values. */
const forms: Readonly<Record<string, string | readonly unknown[]>> = {
  ...{ atMs: "number", wallMs: "number", format: [1], process: "string", machine: "string" },
  ...{ owner: "string", resources: "list", mode: ["exclusive", "shared"], fence: "number" },
  ...{ fromMs: "number", fromWallMs: "number", validityMs: "number" },
  ...{ id: "number", resource: "string", value: "string", outcome: ["accepted", "refused", "unknown"] },
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
  const needed = ["atMs", "wallMs", ...fieldsOf[kind as Line["event"]]];
  const fields = Object.keys(forms).filter((field) => needed.includes(field) || line[field] !== undefined);
  const wrong = fields.find((field) => !fits(line[field], forms[field]));
  if (wrong !== undefined) throw new HistoryError(`${where} has no ${wrong}, or a wrong one`);
  return line as unknown as Line;
}

function fits(value: unknown, form: (typeof forms)[string] | undefined): boolean {
  if (typeof form === "object") return form.includes(value);
  if (form !== "list") return typeof value === form;
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}
