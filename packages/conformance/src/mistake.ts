import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

/** The place where a test called a method: the frames of a stack trace, starting at the calling line. */
export interface CallSite {
  readonly frames: string;
}

/** Records where a function was called. Must be called before the function awaits anything. */
export function callSiteOf(called: (...given: never[]) => unknown): CallSite {
  const trace: { stack?: string } = {};
  Error.captureStackTrace(trace, called);
  return {
    // Only a failure needs the text, which is slow to make.
    get frames() {
      return framesOf(trace);
    },
  };
}

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

/**
 * Returns an error that points at the call, not at the helper that checked the reply.
 *
 * @param mistake the likely mistake, if the test knows it: the message starts with it
 */
export function errorAt({ frames }: CallSite, message: string, mistake?: string): Error {
  const error = withFrames(new Error(mistake === undefined ? message : `${mistake}: ${message}`), frames);
  if (mistake !== undefined) mistakes.set(error, mistake);
  return error;
}

/** Returns an error for a rejected call, which points at the adapter's own code first, and then at the call. */
export function rejectionAt({ frames }: CallSite, message: string, cause: unknown): Error {
  const own = cause instanceof Error ? framesOf(cause).split("\n") : [];
  const helper = own.findIndex(isHelper);
  const adapter = helper < 0 ? own : own.slice(0, helper);
  return withFrames(new Error(message, { cause }), [...adapter, frames].filter(Boolean).join("\n"));
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

function isHelper(frame: string): boolean {
  const [, file] = frame.split(`${helpers}/`);
  return file !== undefined && !/^(suites|broken-nodes)\//.test(file);
}

/** Removes helpers from the top of the stack, so that it starts in the test. */
export function withoutHelpers(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const frames = framesOf(error).split("\n");
  const first = frames.findIndex((frame) => frame.includes(`${helpers}/suites/`));
  // The build has no such folder, so helpers cannot be distinguished from tests there.
  if (first < 0 || !frames.slice(0, first).every(isHelper)) return error;
  return withFrames(error, frames.slice(first).join("\n"));
}

function withFrames(error: Error, frames: string): Error {
  error.stack = `${error.name}: ${error.message}\n${frames}`;
  return error;
}

function framesOf({ stack = "" }: { readonly stack?: string }): string {
  return stack
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .join("\n");
}
