import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

/** The place where a test called a method: the frames of a stack trace, the calling line first. */
export interface CallSite {
  readonly frames: string;
}

/** Notes where a function was called. Call it before the function awaits anything. */
export function callSiteOf(called: (...given: never[]) => unknown): CallSite {
  const trace: { stack?: string } = {};
  Error.captureStackTrace(trace, called);
  return {
    // Only a failure needs the text, which takes a while to make.
    get frames() {
      return framesOf(trace);
    },
  };
}

/** An error that points at the call, not at the helper that found out what is wrong with the answer. */
export function errorAt({ frames }: CallSite, message: string): Error {
  return withFrames(new Error(message), frames);
}

/** An error for a call that rejected: points at the adapter's own code first, and then at the call. */
export function rejectionAt({ frames }: CallSite, message: string, cause: unknown): Error {
  const own = cause instanceof Error ? framesOf(cause).split("\n") : [];
  const helper = own.findIndex(isHelper);
  const adapter = helper < 0 ? own : own.slice(0, helper);
  return withFrames(new Error(message, { cause }), [...adapter, frames].filter(Boolean).join("\n"));
}

/** Puts what is probably wrong with the node before what the test saw. A rejection says by itself what is wrong. */
export function withMistake(error: unknown, mistake: string | undefined): unknown {
  if (mistake === undefined || !(error instanceof Error) || error.cause !== undefined) return error;
  const { message } = error;
  error.message = `${mistake}: ${message}`;
  // Node.js writes the message into the stack when it makes the error.
  error.stack = (error.stack ?? "").replace(message, () => error.message);
  return error;
}

/** Where the helpers of the suite are: beside this module, whether that is the source or what is built from it. */
const helpers = dirname(fileURLToPath(import.meta.url));

function isHelper(frame: string): boolean {
  const [, file] = frame.split(`${helpers}/`);
  return file !== undefined && !/^(suites|broken-nodes)\//.test(file);
}

/** Takes helpers off the top of the stack, so that it begins in the test. */
export function withoutHelpers(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const frames = framesOf(error).split("\n");
  const first = frames.findIndex((frame) => frame.includes(`${helpers}/suites/`));
  // What is built has no such folder: then a helper cannot be told from a test.
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
