/** The list of everything that the API reference has a section for. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The folder that `pnpm reference` writes, relative to the root of the repository. */
export const referenceFolder = "apps/site/reference";

/** A module that users import, as `pnpm reference` lists it in `symbols.json`. */
export interface ReferenceModule {
  /** Its name as in an import: `@holdfast/core/election`. */
  readonly name: string;
  /** Its page, relative to the folder of the reference: `core/election/index.md`. */
  readonly page: string;
  readonly symbols: readonly ReferenceSymbol[];
}

/** A symbol that a module exports. */
export interface ReferenceSymbol {
  readonly name: string;
  readonly kind: "class" | "function" | "variable" | "interface" | "type";
  /** The page of the module that it belongs to: `core/index.md`. */
  readonly page: string;
  /** The anchor of its section on this page: `lock`. */
  readonly anchor: string;
  /** The anchor of each member on this page, by its name: `lock-fence`. */
  readonly members: Readonly<Record<string, string>>;
}

/** Returns the modules of the reference. None if `pnpm reference` has not written it. */
export function referenceModules(root: string): readonly ReferenceModule[] {
  const file = join(root, referenceFolder, "symbols.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : [];
}
