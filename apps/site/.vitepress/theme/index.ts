import type { Theme } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";
import { defineAsyncComponent, onMounted } from "vue";
import { describeSidebar } from "./accessibility.ts";
import "./style.css";
import "../../src/charts/charts.css";

const theme: Theme = {
  extends: DefaultTheme,
  setup: () => onMounted(describeSidebar),
  enhanceApp({ app }) {
    // A layout of its own, loaded only by the page that names it.
    app.component(
      "Playground",
      defineAsyncComponent(() => import("../../src/playground/playground.tsx")),
    );
  },
};

export default theme;
