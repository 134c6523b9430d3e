/**
 * How changesets become the entries of changelogs: each as its author wrote it. That the packages of one release depend
 * on each other in that version goes without saying.
 *
 * The first release has one entry for each package, `first-release-….md`. What changed on the way there, nobody has used:
 * other changesets that are pending with it say nothing.
 */
import { readdirSync } from "node:fs";

const isFirst = (id) => id.startsWith("first-release-");
const firstIsPending = readdirSync(new URL(".", import.meta.url)).some(isFirst);

export default {
  async getReleaseLine({ id, summary }) {
    if (firstIsPending && !isFirst(id)) return "";
    return `- ${summary.trim().replaceAll(/\n(?=.)/g, "\n  ")}`;
  },
  async getDependencyReleaseLine() {
    return "";
  },
};
