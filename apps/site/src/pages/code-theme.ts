/** The colours of code. */
import dark from "@shikijs/themes/github-dark-default";
// The colours of other light themes are too faint on the background of code.
import light from "@shikijs/themes/github-light-high-contrast";

/** One theme for light and dark pages: with two, each block of code is parsed twice, and each colour written twice. */
export const codeTheme: typeof light = {
  ...light,
  name: "light-and-dark",
  colors: { "editor.foreground": both(light.colors?.["editor.foreground"], dark.colors?.["editor.foreground"]) },
  // Both themes have the same rules, and differ only in colours.
  tokenColors: (light.tokenColors ?? []).map((rule, index) => {
    const other = dark.tokenColors?.[index];
    if (String(other?.scope) !== String(rule.scope)) throw new Error(`the themes of code differ in rule ${index}`);
    const { foreground } = rule.settings;
    if (foreground === undefined) return rule;
    return { ...rule, settings: { ...rule.settings, foreground: both(foreground, other?.settings.foreground) } };
  }),
};

function both(onLight = "inherit", onDark = onLight): string {
  return `light-dark(${onLight},${onDark})`;
}
