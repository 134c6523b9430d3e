/** Histories of locks and of the data that they protect: recorded by an observer, and checked. */

export { type CheckOptions, checkHistory, type HistoryVerdict } from "./check.ts";
export type { HistoryFinding, Judgement } from "./judge.ts";
export { HistoryError } from "./read.ts";
export {
  type AccessOptions,
  type HistoryOptions,
  type HistoryRecorder,
  type RecordedValue,
  recordHistory,
} from "./recorder.ts";
