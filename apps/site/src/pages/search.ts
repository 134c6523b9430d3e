/** How the site's search ranks what it finds, as options of MiniSearch. */
export const searchOptions = {
  /** Every word has to be there. */
  combineWith: "AND" as const,
  /**
   * Ranks guides first, and pages for few readers last. The function becomes text in every page: it may use nothing from
   * outside.
   */
  boostDocument(route: string): number {
    if (/^\/(contributing|migrating)\//.test(route)) return 0.3;
    if (/^\/reference\/simulation\//.test(route)) return 0.3;
    if (/^\/(evidence|reference)\//.test(route)) return 0.5;
    const isGuide = /^\/[^/]+$/.test(route);
    return isGuide ? 2 : 1;
  },
};
