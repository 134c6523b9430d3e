import { renamedNode } from "../renamed-node.ts";
import type { BrokenWrapper } from "./broken-node.ts";

const odd = "each of many odd names is a resource of its own";

/** Faults in names: two resources become one. */
export const brokenNames: readonly BrokenWrapper[] = [
  {
    fault: "folds the case of names",
    caughtBy: odd,
    breakIt: (node) => renamedNode(node, (name) => name.toLowerCase()),
  },
  {
    fault: "trims names",
    caughtBy: odd,
    breakIt: (node) => renamedNode(node, (name) => name.trim() || "nothing"),
  },
  {
    fault: "keeps only the part of a name between braces",
    caughtBy: odd,
    breakIt: (node) => renamedNode(node, (name) => /\{([^}]+)\}/.exec(name)?.[1] ?? name),
  },
  {
    fault: "cuts names at 255 characters",
    caughtBy: odd,
    breakIt: (node) => renamedNode(node, (name) => name.slice(0, 255)),
  },
  {
    fault: "ends names at a NUL character",
    caughtBy: odd,
    breakIt: (node) => renamedNode(node, (name) => name.split("\0")[0] || "nothing"),
  },
  {
    fault: "treats canonically equivalent names as the same name",
    caughtBy: odd,
    breakIt: (node) => renamedNode(node, (name) => name.normalize("NFC")),
  },
  {
    fault: "keeps names as UTF-8, in which all lone surrogates are the same",
    caughtBy: "names that are not well-formed Unicode are rejected, or are resources of their own",
    breakIt: (node) => renamedNode(node, (name) => name.replaceAll(/\p{Surrogate}/gu, "\ufffd")),
  },
];
