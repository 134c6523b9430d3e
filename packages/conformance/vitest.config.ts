import shared from "../../vitest.shared.ts";

// Without "import", which the processes of vitest would apply to what CommonJS packages require, such as `pg`.
const conditions = ["@holdfast/source", "node", "default"];

export default { ...shared, resolve: { conditions }, ssr: { resolve: { conditions } } };
