import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of this app. */
export const app: string = fileURLToPath(new URL("..", import.meta.url));

/** Returns the path of a built program of `fixtures` or `src`. */
export function builtProgram(name: string): string {
  return join(app, "reports/programs", `${name}.mjs`); // not under version control
}
