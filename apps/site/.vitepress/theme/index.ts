import type { Theme } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";
import { defineAsyncComponent } from "vue";
import { describeSidebar } from "./accessibility.ts";
import "./style.css";
import "../../src/charts/charts.css";

const theme: Theme = {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    describeSidebar(app);
    // A layout of its own, loaded only by the page that names it.
    app.component(
      "Playground",
      defineAsyncComponent(() => import("../../src/playground/playground.tsx")),
    );
  },
};

export default theme;
