/**
 * How changesets become the entries of changelogs: each as its author wrote it. That the packages of one release depend
 * on each other in that version goes without saying.
 */
export default {
  async getReleaseLine({ summary }) {
    return `- ${summary.trim().replaceAll(/\n(?=.)/g, "\n  ")}`;
  },
  async getDependencyReleaseLine() {
    return "";
  },
};
