import { sourcePages } from "../../src/pages/source-pages.ts";

export default { paths: sourcePages };
