import { connectIoredis, disconnect } from "@holdfast/app-kit/clients";
import { createLock, createRedlock, IoredisAdapter, type Lock, LockAcquisitionError } from "redlock-universal";
import type { Library } from "./library.ts";
import { unless } from "./unless.ts";

export const redlockUniversal: Library = {
  name: "redlock-universal",
  locksSeveral: false,
  async connect(ports) {
    const clients = await connectIoredis(ports);
    const adapters = clients.map((client) => new IoredisAdapter(client));
    return {
      async tryLock([key = ""], ttlMs) {
        const lock = lockOver(adapters, key, ttlMs);
        const handle = await unless(lock.acquire(), LockAcquisitionError, null);
        if (handle === null) return null;
        return {
          value: handle.value,
          extend: (newTtlMs) => lock.extend(handle, newTtlMs),
          release: async () => void (await lock.release(handle)),
        };
      },
      close: () => disconnect(clients),
    };
  },
};

function lockOver(adapters: IoredisAdapter[], key: string, ttl: number): Lock {
  const [adapter, ...others] = adapters;
  return adapter && others.length === 0
    ? createLock({ adapter, key, ttl, retryAttempts: 0 })
    : createRedlock({ adapters, key, ttl, retryAttempts: 0 });
}
