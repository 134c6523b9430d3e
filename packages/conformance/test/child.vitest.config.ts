import { fileURLToPath } from "node:url";
import { shared } from "../../../vitest.config.ts";

/** For the vitest processes that tests start: their own kinds of files, without the report of the package's run. */
export default {
  ...shared,
  cacheDir: fileURLToPath(new URL("../node_modules/.vite", import.meta.url)),
  test: { include: ["*.suite.ts", "conformance.test.ts", "broken-nodes.test.ts"] },
};
