import { createReadStream } from "node:fs";

/** The fields of each kind of line, besides the times of {@link Line}: their type, or their possible values. */
const fieldsOf = {
  started: { format: [1], process: "string", machine: "string" },
  acquired: {
    owner: "string",
    resources: "object",
    mode: ["exclusive", "shared"],
    fence: "number",
    fromMs: "number",
    fromWallMs: "number",
    validityMs: "number",
  },
  extended: { owner: "string", fromMs: "number", fromWallMs: "number", validityMs: "number" },
  released: { owner: "string" },
  lost: { owner: "string", reason: "string" },
  read: { id: "number", resource: "string" },
  write: { id: "number", resource: "string", value: "string" },
  answered: { id: "number", outcome: ["accepted", "refused", "unknown"] },
} as const;

interface Types {
  readonly number: number;
  readonly string: string;
  readonly object: readonly string[];
}

type FieldOf<Form> = Form extends keyof Types ? Types[Form] : Form extends readonly (infer Value)[] ? Value : never;

type Kind = keyof typeof fieldsOf;

/** The fields that a line of a kind may have, as well. */
interface Optional {
  readonly read: { readonly fence?: number };
  readonly write: { readonly fence?: number };
  readonly answered: { readonly value?: string };
}

/** A line of one kind. */
export type LineOf<Name extends Kind> = { readonly event: Name; readonly atMs: number; readonly wallMs: number } & {
  readonly [Field in keyof (typeof fieldsOf)[Name]]: FieldOf<(typeof fieldsOf)[Name][Field]>;
} & (Name extends keyof Optional ? Optional[Name] : unknown);

/** A line of a history: an event, with its time on the monotonic clock of the machine, and on its wall clock. */
export type Line = { [Name in Kind]: LineOf<Name> }[Kind];

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
  const fields = Object.entries({ atMs: "number", wallMs: "number", ...fieldsOf[kind as Kind] });
  const wrong = fields.find(([field, form]) => !fits(line[field], form))?.[0];
  if (wrong !== undefined) throw new HistoryError(`${where} has no ${wrong}, or a wrong one`);
  const { fence = 1, value = "" } = line;
  if (!fits(fence, "number") || !fits(value, "string")) throw new HistoryError(`${where} has a wrong fence or value`);
  return line as unknown as Line;
}

function fits(value: unknown, form: string | readonly unknown[]): boolean {
  if (typeof form !== "string") return form.includes(value);
  if (form !== "object") return typeof value === form;
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}
