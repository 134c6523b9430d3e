import type { Library } from "./library.ts";

/** Grants every request, to show that losses without locks are noticed. */
export const none: Library = {
  name: "no locks",
  locksSeveral: true,
  connect: async () => ({
    tryLock: async () => ({ value: "", extend: async () => true, release: async () => {} }),
    close: () => {},
  }),
};
