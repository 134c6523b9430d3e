import { ClosingError, ConnectionError, TimeoutError } from "@valkey/valkey-glide";

/** Tracks whether a server is reachable. */
export interface Reachability {
  /** Whether the server is believed to be reachable. */
  readonly isReachable: boolean;
  /** Reports the error of a command that got no reply. */
  onFailure(error: unknown): void;
}

/** How long to wait before the server is pinged again. */
const pauseMs = 100;

/**
 * Returns a tracker of whether a server is reachable. GLIDE does not report the state of its connection, so only a
 * command without a reply gives rise to doubt. From then on the server is pinged until it replies; a ping that
 * fails marks it as unreachable.
 *
 * @param ping pings the server; rejects if it does not reply in time
 */
export function createReachability(ping: () => Promise<unknown>): Reachability {
  let isReachable = true;
  let isPinging = false;

  const pingUntilReply = async (): Promise<void> => {
    isPinging = true;
    while (isPinging) {
      try {
        await ping();
        isReachable = true;
        isPinging = false;
      } catch (error) {
        isReachable = false;
        isPinging = !(error instanceof ClosingError);
        // The timer does not keep the process alive: the client does, while it is open.
        if (isPinging) await new Promise<void>((resolve) => setTimeout(resolve, pauseMs).unref());
      }
    }
  };
  return {
    get isReachable() {
      return isReachable;
    },
    onFailure(error) {
      const isLost = error instanceof ConnectionError || error instanceof ClosingError;
      if (isLost) isReachable = false;
      if ((isLost || error instanceof TimeoutError) && !isPinging) void pingUntilReply();
    },
  };
}
