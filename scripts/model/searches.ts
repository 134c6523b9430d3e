import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { root } from "../lib/workspace.ts";

/** One search through all states of the model. */
export interface Search {
  /** Its title in the report. */
  readonly title: string;
  /** The file in `spec/`. Default: `fencing`. Only its runs are told step by step. */
  readonly model?: "fencing" | "heal" | "change" | "transfer";
  /** The macros that the model is compiled with. */
  readonly defines: readonly string[];
  /** Whether optimising takes longer than searching. Default: true if a run is expected. */
  readonly isSmall?: boolean;
  /** The depth at which the search for a short run begins, where smaller ones find none. Default: 120 steps. */
  readonly runDepth?: number;
  /** Whether the property must hold in every state, or the search must find a run that violates it. */
  readonly expects: "holds" | "run";
}

type Listed = Omit<Search, "defines" | "expects"> & { readonly defines?: readonly (string | readonly string[])[] };

/** The searches of `spec/searches.yml`: the protocol of core, more of it, a run that shows something, and wrong variants. */
const listed: Readonly<Record<"proofs" | "longProofs" | "examples" | "variants", readonly Listed[]>> = parse(
  readFileSync(join(root, "spec/searches.yml"), "utf8"),
);

function searches(list: keyof typeof listed, expects: Search["expects"]): Search[] {
  return listed[list].map(({ defines = [], ...search }) => ({ ...search, defines: defines.flat(2), expects }));
}

/** The protocol of core, which `pnpm model` proves. */
export const proofs: readonly Search[] = searches("proofs", "holds");

/** The variants that `pnpm model --long` proves as well. */
export const longProofs: readonly Search[] = searches("longProofs", "holds");

/** A run that must be found: a model that does nothing would be safe. */
export const [example] = searches("examples", "run") as [Search];

/** The variants that must lead to two locks with the same token, in the wrong order, or that exclude each other. */
export const variants: readonly Search[] = searches("variants", "run");
