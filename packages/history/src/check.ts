import { assertOptions, checkInteger } from "@holdfast/core/node";
import { HistoryJudge, type Judgement, type Recorded } from "./judge.ts";
import { HistoryError, type Line, linesOf } from "./read.ts";

/** The result of {@link checkHistory}. */
export interface HistoryVerdict extends Judgement {
  /** The files whose last line is incomplete: their processes were killed while they wrote it. */
  readonly truncated: readonly string[];
}

/** The options of {@link checkHistory}. */
export interface CheckOptions {
  /**
   * By how much the wall clocks of the machines differed at most, in milliseconds: a positive integer. Required if the files
   * come from several machines, or from several starts of one.
   */
  readonly clocksDifferMs?: number | undefined;
}

/**
 * Checks the files that `recordHistory()` wrote, those of all processes together:
 *
 * - exclusion: no two locks of a resource were valid at the same time, unless both are shared;
 * - token order: tokens grow from each lock to those that were requested after its grant, and no token repeats;
 * - stale write: no write was accepted after an access with a larger token;
 * - linearizability: one order of the accesses explains all that was read, and no write replaced a value that its holder
 *   had not seen.
 *
 * Two events that the clocks cannot order count as simultaneous, so that wrong clocks within `clocksDifferMs` never make a
 * correct system look wrong. Files are read as streams.
 *
 * @param files their names; a name that repeats counts once
 * @throws {HistoryError} naming the file and the line that is malformed, or if the clocks of the files cannot be compared
 * @throws {TypeError | RangeError} naming the bad option
 *
 * @example
 * ```ts
 * import { checkHistory } from "@holdfast/history";
 *
 * const { verdict } = await checkHistory([]);
 * console.log(verdict); // correct
 * ```
 */
export async function checkHistory(files: readonly string[], options: CheckOptions = {}): Promise<HistoryVerdict> {
  assertOptions(options, ["clocksDifferMs"], "checkHistory");
  const { clocksDifferMs } = options;
  if (clocksDifferMs !== undefined) checkInteger("clocksDifferMs", clocksDifferMs);
  const truncated: string[] = [];
  const sources = [...new Set(files)].map((file) => sourceOf(file, () => truncated.push(file)));
  try {
    for (const source of sources) await advance(source);
    return { ...(await judge(sources, clocksDifferMs)), truncated };
  } finally {
    for (const { lines } of sources) await lines.return(undefined);
  }
}

/** How exactly a process knows the monotonic clock of its machine, in milliseconds. */
const readingMs = 0.1;

/** The wall clock counts whole milliseconds. */
const wallTickMs = 1;

/** Judges files that are at their first line. */
async function judge(files: readonly Source[], clocksDifferMs: number | undefined): Promise<Judgement> {
  let open = files.filter(({ next }) => next !== undefined);
  const isOneClock = new Set(open.map(({ next }) => next?.machine)).size <= 1;
  if (!isOneClock && clocksDifferMs === undefined) {
    throw new HistoryError("clocksDifferMs is needed: the files come from several machines, or starts of one");
  }
  const timeOf = ({ next }: Source): number => (isOneClock ? next?.atMs : next?.wallMs) ?? Infinity;
  const differMs = isOneClock ? readingMs : (clocksDifferMs ?? 0) + wallTickMs;
  const judging = new HistoryJudge(isOneClock, open.length > 1 ? differMs : 0);
  while (open.length > 0) {
    const source = open.reduce((first, other) => (timeOf(other) < timeOf(first) ? other : first));
    const nowMs = timeOf(source);
    judging.hear(source, source.next as Line, nowMs, source.where);
    await advance(source);
    if (timeOf(source) < nowMs) throw new HistoryError(`${source.where}: the clock was set back`);
    if (source.next !== undefined) continue;
    // A file that ends leaves its open accesses without an outcome.
    for (const access of source.accesses.values()) access.outcome = "unknown";
    open = open.filter((other) => other !== source);
  }
  return judging.end();
}

/** A file, up to its next line. */
interface Source extends Recorded {
  readonly lines: AsyncGenerator<readonly [Line, string]>;
  process: string;
  next: Line | undefined;
  where: string;
}

function sourceOf(file: string, onTruncated: () => void): Source {
  const state = { process: "", locks: new Map(), accesses: new Map(), known: new Map() };
  return { lines: linesOf(file, onTruncated), ...state, next: undefined, where: file };
}

async function advance(source: Source): Promise<void> {
  const isFirst = source.next === undefined;
  const { value } = await source.lines.next();
  [source.next, source.where] = value ?? [undefined, source.where];
  if (source.next === undefined) return;
  if (isFirst !== (source.next.event === "started"))
    throw new HistoryError(`${source.where} must${isFirst ? "" : " not"} be the start of a process`);
  if (isFirst) source.process = source.next.process;
}
