/** The kinds of answers to a question that was put to several nodes. */
import type { Answer } from "./broadcast.ts";
import type { ConfigurationError } from "./errors.ts";

/** Whether the node failed. */
export function isFailure(answer: Answer<unknown>): answer is Error {
  return answer instanceof Error;
}

/** Whether the node said that it can never work like this. By the code, as the error may be of another copy of this package. */
export function isMisconfigured(failure: Error): boolean {
  try {
    return (failure as Partial<ConfigurationError>).code === "MISCONFIGURED";
  } catch {
    return false; // the getter of a strange error
  }
}

/** Whether the node replied. */
export function isReply<Reply>(answer: Answer<Reply>): answer is Reply {
  return answer !== undefined && !isFailure(answer);
}
