/** Mends what the default theme's markup tells screen readers and keyboards. */
import type { App, ComponentPublicInstance } from "vue";

/** Describes the groups of the sidebar as what they are. */
export function describeSidebar(app: App): void {
  app.mixin({ mounted: describeGroup, updated: describeGroup });
}

/**
 * The title of each group is a button, with the caret as a second button inside. A group that does not collapse has no use
 * for a button.
 */
function describeGroup(this: ComponentPublicInstance): void {
  const group: unknown = this.$el;
  if (!(group instanceof HTMLElement) || !group.classList.contains("VPSidebarItem")) return;
  const title = group.querySelector(":scope > .item[role=button]");
  const caret = title?.querySelector(":scope > .caret");
  if (!caret) {
    for (const attribute of ["role", "tabindex"]) title?.removeAttribute(attribute);
    return;
  }
  title?.setAttribute("aria-expanded", String(!group.classList.contains("collapsed")));
  for (const attribute of ["role", "tabindex", "aria-label"]) caret.removeAttribute(attribute);
  caret.setAttribute("aria-hidden", "true");
}
