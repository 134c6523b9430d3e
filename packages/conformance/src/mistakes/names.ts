import { renamedNode } from "../renamed-node.ts";
import type { NodeMistake } from "./mistake.ts";

const odd = "each of many odd names is a resource of its own";

/** Mistakes about names: two resources that become one. */
export const brokenNames: readonly NodeMistake[] = [
  {
    mistake: "folds the case of names",
    caughtBy: odd,
    breakIt: (node) => renamedNode(node, (name) => name.toLowerCase()),
  },
  {
    mistake: "trims names",
    caughtBy: odd,
    breakIt: (node) => renamedNode(node, (name) => name.trim() || "nothing"),
  },
  {
    mistake: "takes what stands between braces for the whole name",
    caughtBy: odd,
    breakIt: (node) => renamedNode(node, (name) => /\{([^}]+)\}/.exec(name)?.[1] ?? name),
  },
  {
    mistake: "cuts names at 255 characters",
    caughtBy: odd,
    breakIt: (node) => renamedNode(node, (name) => name.slice(0, 255)),
  },
  {
    mistake: "ends names at a NUL character",
    caughtBy: odd,
    breakIt: (node) => renamedNode(node, (name) => name.split("\0")[0] || "nothing"),
  },
  {
    mistake: "takes names that Unicode calls equivalent for the same",
    caughtBy: odd,
    breakIt: (node) => renamedNode(node, (name) => name.normalize("NFC")),
  },
  {
    mistake: "keeps names as UTF-8, in which all halves of surrogate pairs are one",
    caughtBy: "names that are not well-formed Unicode are rejected, or are resources of their own",
    breakIt: (node) => renamedNode(node, (name) => name.replaceAll(/\p{Surrogate}/gu, "\ufffd")),
  },
];
