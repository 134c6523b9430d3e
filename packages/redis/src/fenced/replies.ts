import { insistOnTicket, integerOf } from "../replies.ts";

/** What the script answered. */
type Answer = Accepted | Refused;

/** It was done. */
export interface Accepted {
  readonly isAccepted: true;
  /** The token under which the value was last written or deleted before; 0 if it never was. */
  readonly by: number;
  /** Whether there was a value. */
  readonly hadValue: boolean;
  /** The value that was there, to a read. */
  readonly value: Buffer | null;
}

/** The token is older than another that was shown. */
interface Refused {
  readonly isAccepted: false;
  readonly newestFence: number;
}

/** Reads what the script replied. Throws what it cannot have replied: a proxy in between, say. */
export function readAnswer(reply: unknown, ticket: number): Answer {
  if (!Array.isArray(reply)) throw nonsense();
  insistOnTicket(reply, ticket);
  const status = integerOf(reply[1]);
  const fence = integerOf(reply[2]);
  if (fence === undefined || fence < 0) throw nonsense();
  if (status === 0 && reply.length === 3) return { isAccepted: false, newestFence: fence };
  if (status !== 1 || reply.length !== 4) throw nonsense();
  const found: unknown = reply[3];
  const value = Buffer.isBuffer(found) ? found : null;
  if (value === null && found !== null && found !== 1) throw nonsense();
  return { isAccepted: true, by: fence, hadValue: found !== null, value };
}

function nonsense(): Error {
  return new Error("the server's answer is none of the script's");
}
