import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

/** The likely mistakes that messages already name, by error. */
const mistakes = new WeakMap<object, string>();

/**
 * Returns the likely mistake behind a failure. If none is known, the message of a rejection or of a malformed reply says
 * what is wrong; that of another failure says only which values differ, so the result is undefined.
 */
export function mistakeBehind(failure: unknown): string | undefined {
  if (!(failure instanceof Error)) return String(failure);
  return mistakes.get(failure) ?? (failure.name === "AssertionError" ? undefined : failure.message.split("\n", 1)[0]);
}

/** Returns an error whose message starts with the likely mistake, as the test knows it. */
export function named(mistake: string, message: string): Error {
  const error = new Error(`${mistake}: ${message}`);
  mistakes.set(error, mistake);
  return error;
}

/** Returns an error for a rejected call, which points at the adapter's own code first, and then at the call. */
export function rejection(message: string, cause: unknown): Error {
  const own = cause instanceof Error ? framesOf(cause) : [];
  const helper = own.findIndex(isHelper);
  const error = new Error(message, { cause });
  return withFrames(error, [...(helper < 0 ? own : own.slice(0, helper)), ...framesOf(error)]);
}

/** Puts the likely mistake before the error's message, unless a rejection or the test already says what is wrong. */
export function withMistake(error: unknown, mistake: string | undefined): unknown {
  if (mistake === undefined || !(error instanceof Error) || error.cause !== undefined || mistakes.has(error)) {
    return error;
  }
  mistakes.set(error, mistake);
  const { message } = error;
  error.message = `${mistake}: ${message}`;
  // Node.js copies the message into the stack when it creates the error.
  error.stack = (error.stack ?? "").replace(message, () => error.message);
  return error;
}

/** The folder of the suite's helpers: that of this module, in the sources as well as in the build. */
const helpers = dirname(fileURLToPath(import.meta.url));

/** The file of a frame in the suite, from its folder. The build has one file for all: only `Client` is recognized there. */
function fileOf(frame: string): string | undefined {
  const [, file] = frame.split(`${helpers}/`);
  return /^\s+at (async )?Client\./.test(frame) ? file && "client" : file;
}

function isTest(frame: string): boolean {
  return /^(suites\/|index\.js)/.test(fileOf(frame) ?? "");
}

function isHelper(frame: string): boolean {
  return !/^(suites\/|broken-nodes\/|index\.js)/.test(fileOf(frame) ?? "index.js");
}

/** Removes helpers from the top of the stack, so that it starts in the test, or in the adapter that threw. */
export function withoutHelpers(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const frames = framesOf(error);
  const test = frames.findIndex(isTest);
  const shown = frames.filter((frame, index) => index >= test || !isHelper(frame));
  return test < 0 ? error : withFrames(error, shown);
}

function withFrames(error: Error, frames: readonly string[]): Error {
  error.stack = [`${error.name}: ${error.message}`, ...frames].join("\n");
  return error;
}

function framesOf({ stack = "" }: { readonly stack?: string }): string[] {
  return stack.split("\n").filter((line) => /^\s+at (?!.*node:internal)/.test(line));
}
