import { connectIoredis, disconnect } from "@holdfast/app-kit/clients";
import Redlock from "redlock4";
import type { HeldLock, Library } from "./library.ts";
import { unless } from "./unless.ts";

const { LockError } = Redlock;

export const redlock4: Library = {
  name: "redlock 4",
  locksSeveral: true,
  async connect(ports) {
    const clients = await connectIoredis(ports);
    const redlock = new Redlock(clients, { retryCount: 0 });
    return {
      async tryLock(keys, ttlMs) {
        const lock = await unless(redlock.lock(keys, ttlMs), LockError, null);
        return lock && held(lock);
      },
      close: () => disconnect(clients),
    };
  },
};

function held(lock: Redlock.Lock): HeldLock {
  return {
    value: lock.value,
    async extend(ttlMs) {
      return (await unless(lock.extend(ttlMs), LockError, null)) !== null;
    },
    release: async () => void (await unless(lock.unlock(), LockError, null)),
  };
}
