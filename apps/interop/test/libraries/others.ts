import type { Address } from "@holdfast/app-kit/clients";
import type { LibraryUser } from "@holdfast/app-kit/libraries/library";
import { connectRedisSemaphore } from "@holdfast/app-kit/libraries/redis-semaphore";
import { connectRedlock4, connectRedlock5, connectSesamecare } from "@holdfast/app-kit/libraries/redlock";
import { connectUniversal } from "@holdfast/app-kit/libraries/redlock-universal";
import { type HeldLock, type Library, unless } from "./library.ts";

export const redlock5: Library = over("redlock 5", true, (ports) => connectRedlock5(ports, { retryCount: 0 }));

/** The other libraries. Each makes one attempt. */
export const theirs: readonly Library[] = [
  over("redlock 4", true, (ports) => connectRedlock4(ports, { retryCount: 0 })),
  redlock5,
  over("@sesamecare-oss/redlock", true, (ports) => connectSesamecare(ports, { retryCount: 0 })),
  over(
    "redis-semaphore",
    false,
    (ports) => connectRedisSemaphore(ports, { acquireAttemptsLimit: 1, refreshInterval: 0 }),
    "mutex:",
  ),
  over("redlock-universal", false, (ports) => connectUniversal(ports, { retryAttempts: 0 })),
];

/** @param prefix what the library puts before each key */
function over<Lock>(
  name: string,
  locksSeveral: boolean,
  connect: (addresses: readonly Address[]) => Promise<LibraryUser<Lock>>,
  prefix = "",
): Library {
  return {
    ...{ name, locksSeveral },
    async connect(ports) {
      const user = await connect(ports);
      return {
        async tryLock(keys, ttlMs) {
          const names = keys.map((key) => key.slice(prefix.length));
          const lock = await unless(user.acquire(names, ttlMs), user.denial, null);
          return lock && held(user, lock);
        },
        close: user.close,
      };
    },
  };
}

function held<Lock>(user: LibraryUser<Lock>, first: Lock): HeldLock {
  let lock = first;
  return {
    value: user.valueOf(first),
    async extend(ttlMs) {
      const next = await unless(user.extend(lock, ttlMs), user.denial, null);
      lock = next ?? lock;
      return next !== null;
    },
    release: async () => void (await unless(user.release(lock), user.denial, null)),
  };
}
