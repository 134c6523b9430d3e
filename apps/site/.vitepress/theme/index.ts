import type { Theme } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";
import { defineAsyncComponent, hydrateOnVisible, onMounted } from "vue";
import { describeSidebar } from "./accessibility.ts";
import "./style.css";

const theme: Theme = {
  extends: DefaultTheme,
  setup: () => onMounted(describeSidebar),
  enhanceApp({ app }) {
    // Loaded only by the pages that name them, and the story when a reader sees it.
    const load = () => import("../../src/playground/index.ts");
    app.component(
      "Playground",
      defineAsyncComponent(async () => (await load()).Playground),
    );
    const loader = async () => (await load()).LiveStory;
    app.component("LiveStory", defineAsyncComponent({ loader, hydrate: hydrateOnVisible() }));
  },
};

export default theme;
