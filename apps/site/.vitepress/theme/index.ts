import type { Theme } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";
import { describeSidebar } from "./accessibility.ts";
import "./style.css";
import "../../src/charts/charts.css";

const theme: Theme = {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    describeSidebar(app);
  },
};

export default theme;
