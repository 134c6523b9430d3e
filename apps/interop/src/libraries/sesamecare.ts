import { connectIoredis, disconnect } from "@holdfast/app-kit/clients";
import { ExecutionError, Redlock } from "@sesamecare-oss/redlock";
import type { Library } from "./library.ts";
import { heldSuccessively } from "./redlock5.ts";
import { unless } from "./unless.ts";

export const sesamecare: Library = {
  name: "@sesamecare-oss/redlock",
  locksSeveral: true,
  async connect(ports) {
    const clients = await connectIoredis(ports);
    const redlock = new Redlock(clients, { retryCount: 0 });
    return {
      async tryLock(keys, ttlMs) {
        const lock = await unless(redlock.acquire([...keys], ttlMs), ExecutionError, null);
        return lock && heldSuccessively(lock, ExecutionError);
      },
      close: () => disconnect(clients),
    };
  },
};
