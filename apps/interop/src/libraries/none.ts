import type { Library } from "./library.ts";

/** Always says yes: what happens without locks, so that it can be seen that losses would be noticed. */
export const none: Library = {
  name: "no locks",
  locksSeveral: true,
  connect: async () => ({
    tryLock: async () => ({ value: "", extend: async () => true, release: async () => {} }),
    close: () => {},
  }),
};
