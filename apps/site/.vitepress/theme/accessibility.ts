/** Mends what the default theme's markup tells screen readers and keyboards. */

/** Describes the groups of the sidebar as what they are, also after they have changed. */
export function describeSidebar(): void {
  describeGroups();
  new MutationObserver(describeGroups).observe(document.body, {
    subtree: true,
    childList: true,
    attributeFilter: ["class"],
  });
}

/**
 * The title of each group is a button, with the caret as a second button inside. A group that does not collapse has no use
 * for a button.
 */
function describeGroups(): void {
  for (const title of document.querySelectorAll(".VPSidebarItem > .item[role=button]")) {
    const caret = title.querySelector(":scope > .caret");
    if (caret) {
      const isCollapsed = title.parentElement?.classList.contains("collapsed");
      title.setAttribute("aria-expanded", String(!isCollapsed));
      caret.setAttribute("aria-hidden", "true");
      removeAttributes(caret, "role", "tabindex", "aria-label");
    } else {
      removeAttributes(title, "role", "tabindex");
    }
  }
}

function removeAttributes(element: Element, ...names: readonly string[]): void {
  for (const name of names) element.removeAttribute(name);
}
