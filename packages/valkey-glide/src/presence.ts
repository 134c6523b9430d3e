import { ClosingError, ConnectionError, TimeoutError } from "@valkey/valkey-glide";

/** What is known of whether a server is there. */
export interface Presence {
  /** Whether it is, as far as is known. */
  readonly isThere: boolean;
  /** Tells why a command got no answer. */
  missed(error: unknown): void;
}

/** How long to wait until the server is asked again. */
const pauseMs = 100;

/**
 * Finds out whether a server is there. GLIDE does not tell of its connection, so that only a command without an answer
 * gives rise to doubt: from then on the server is asked until it answers. While it does not, it is taken for gone.
 *
 * @param ping asks the server; rejects when it has not answered in time
 */
export function createPresence(ping: () => Promise<unknown>): Presence {
  let isThere = true;
  let isAsking = false;

  const ask = async (): Promise<void> => {
    isAsking = true;
    while (isAsking) {
      try {
        await ping();
        isThere = true;
        isAsking = false;
      } catch (error) {
        isThere = false;
        isAsking = !(error instanceof ClosingError);
        // Keeps no process alive: the client does that, as long as it is open.
        if (isAsking) await new Promise<void>((resolve) => setTimeout(resolve, pauseMs).unref());
      }
    }
  };
  return {
    get isThere() {
      return isThere;
    },
    missed(error) {
      const isLost = error instanceof ConnectionError || error instanceof ClosingError;
      if (isLost) isThere = false;
      if ((isLost || error instanceof TimeoutError) && !isAsking) void ask();
    },
  };
}
