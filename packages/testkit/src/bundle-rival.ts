import { fileURLToPath, pathToFileURL } from "node:url";
import { bundleProgram } from "./bundle-program.ts";

/**
 * Bundles a module that opens rivals for the conformance suite, together with the suite's part of their process.
 *
 * @returns fields of a `RivalModule`
 */
export async function bundleRival(module: URL): Promise<{ url: string; execArgv: readonly string[] }> {
  const path = fileURLToPath(module);
  const code = `import "@holdfast/conformance/rival-process"; export { openNode } from ${JSON.stringify(path)};`;
  const url = pathToFileURL(await bundleProgram(path.replace(/\.ts$/, "-process.ts"), code)).href;
  // Node.js would go on with the suite's source, which it cannot load: so this import never ends.
  const first = `import ${JSON.stringify(url)}; await new Promise(() => {});`;
  return { url, execArgv: ["--import", `data:text/javascript,${encodeURIComponent(first)}`] };
}
