import type { FunctionalComponent } from "vue";

/** Stands for parts of VitePress's theme that no page of the site uses, so that readers do not load them. */
const Nothing: FunctionalComponent = () => null;

export default Nothing;
