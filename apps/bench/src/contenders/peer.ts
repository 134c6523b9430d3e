import type { ConnectUser } from "@holdfast/app-kit/libraries/library";
import { type Connect, type Settings, ttlMs } from "./contender.ts";

/**
 * Uses another library.
 *
 * @param options its options for ways of waiting other than its default
 */
export function over<Lock, Options>(
  connect: ConnectUser<Lock, Options>,
  options: Partial<Record<Settings["waiting"], Partial<Options>>>,
): Connect {
  return async (addresses, { waiting }) => {
    const user = await connect(addresses, options[waiting] ?? {});
    return {
      async acquire(key) {
        const lock = await user.acquire([key], ttlMs);
        return () => user.release(lock);
      },
      close: user.close,
    };
  };
}
