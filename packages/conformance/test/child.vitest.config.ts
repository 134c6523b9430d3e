import { fileURLToPath } from "node:url";
import shared from "../../../vitest.shared.ts";

/** For the vitests that tests start: of their kinds of files, and without the report of the package's own run. */
export default {
  ...shared,
  cacheDir: fileURLToPath(new URL("../node_modules/.vite", import.meta.url)),
  test: { include: ["*.suite.ts", "conformance.test.ts", "bites.test.ts"] },
};
