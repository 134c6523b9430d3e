import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of this app. */
export const app: string = fileURLToPath(new URL("..", import.meta.url));

/** Where a program of `fixtures`, or of `src`, is when it has been built. */
export function builtProgram(name: string): string {
  return join(app, "reports/programs", `${name}.mjs`); // not under version control
}
