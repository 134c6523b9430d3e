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
 * Decodes the reply to the call with this id.
 *
 * @throws if it belongs to another call, because the client lost count, or cannot be the script's, as from a proxy
 */
export function decodeReply(reply: unknown, callId: number): FencedReply {
  if (!Array.isArray(reply)) throw malformed();
  if (integerOf(reply[0]) !== callId) {
    throw new Error("the client returned the reply to another command");
  }
  const status = integerOf(reply[1]);
  const fence = integerOf(reply[2]);
  if (fence === undefined || fence < 0) throw malformed();
  if (status === 0 && reply.length === 3) return { isAccepted: false, newestFence: fence };
  if (status !== 1 || reply.length !== 4) throw malformed();
  const previous: unknown = reply[3];
  const value = Buffer.isBuffer(previous) ? previous : null;
  if (value === null && previous !== null && previous !== 1) throw malformed();
  return { isAccepted: true, by: fence, hadValue: previous !== null, value };
}

/** Reads a safe integer. Depending on its settings, a client returns it as a number or as text. */
function integerOf(element: unknown): number | undefined {
  const isText = typeof element === "string" || Buffer.isBuffer(element);
  const number = isText && /^-?\d+$/.test(String(element)) ? Number(element) : element;
  return Number.isSafeInteger(number) ? (number as number) : undefined;
}

function malformed(): Error {
  return new Error("the server's reply is malformed");
}
