import { bundleProgram } from "@holdfast/testkit/bundle-program";

/** The paths of the programs that a run forks. */
export interface Programs {
  readonly measured: string;
  readonly network: string;
}

/** Bundles the forked programs. A TypeScript loader would add code to every measured function. */
export async function bundlePrograms(): Promise<Programs> {
  const measured = await bundleProgram(new URL("process/main.ts", import.meta.url));
  return { measured, network: await bundleProgram(new URL("process/network.ts", import.meta.url)) };
}
