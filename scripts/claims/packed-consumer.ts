import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { withPackedPackages } from "../lib/packing.ts";
import { run } from "../lib/run.ts";
import { root } from "../lib/workspace.ts";

/** Peers, and what a TypeScript project for Node has: its name, and the folder of this workspace that has it. */
const installed = [
  ["ioredis", "packages/ioredis"],
  ["@redis/client", "packages/node-redis"],
  ["@opentelemetry/api", "packages/opentelemetry"],
  ["@valkey/valkey-glide", "packages/valkey-glide"],
  ["vitest", "."],
  ["@types/node", "."],
] as const;

const compilerOptions = {
  target: "ES2022",
  module: "NodeNext",
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  types: ["node"],
};

/** Loads and type-checks the packed packages in a strict TypeScript project without any of our settings. */
export async function packedPackagesWork(): Promise<void> {
  await withPackedPackages(async (packages, consumer) => {
    for (const [name, owner] of installed) {
      const link = join(consumer, "node_modules", name);
      await mkdir(dirname(link), { recursive: true });
      await symlink(join(root, owner, "node_modules", name), link);
    }
    const imports = packages.map(({ manifest }, index) => `import * as p${index} from "${manifest.name}";`);
    const uses = packages.map((_, index) => `console.log(Object.keys(p${index}));`);
    await writeFile(join(consumer, "index.mts"), [...imports, ...uses].join("\n"));
    await writeFile(join(consumer, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["index.mts"] }));
    await run(join(root, "node_modules/.bin/tsc"), ["-p", "."], consumer);
    await run(join(root, "node_modules/.bin/tsx"), ["index.mts"], consumer);
  });
}
