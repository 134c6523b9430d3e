import { integerOf } from "../replies.ts";

/** The script's reply to one call. */
export type FencedReply = Accepted | Refused;

/** The call was executed. */
export interface Accepted {
  readonly isAccepted: true;
  /** The token of the last write or delete before this call; 0 if there was none. */
  readonly by: number;
  /** Whether there was a value before this call. */
  readonly hadValue: boolean;
  /** The value, for a read. */
  readonly value: Buffer | null;
}

/** The token is too old. */
interface Refused {
  readonly isAccepted: false;
  readonly newestFence: number;
}

/**
 * Decodes the reply to a call, without its id.
 *
 * @throws if it cannot be the script's, as from a proxy
 */
export function decodeReply(reply: readonly unknown[]): FencedReply {
  const status = integerOf(reply[0]);
  const fence = integerOf(reply[1]);
  if (fence === undefined || fence < 0) throw malformed();
  if (status === 0 && reply.length === 2) return { isAccepted: false, newestFence: fence };
  if (status !== 1 || reply.length !== 3) throw malformed();
  const previous: unknown = reply[2];
  const value = Buffer.isBuffer(previous) ? previous : null;
  if (value === null && previous !== null && previous !== 1) throw malformed();
  return { isAccepted: true, by: fence, hadValue: previous !== null, value };
}

function malformed(): Error {
  return new Error("the server's reply is malformed");
}
