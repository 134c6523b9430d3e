import { posix } from "node:path";
import { renamedNode } from "../world/renamed-node.ts";
import type { BrokenWrapper } from "./broken-node.ts";

const odd = "each of many unusual names is a separate resource";

/** Returns a name as a server decodes it from a URL. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

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
    fault: "treats names as paths",
    caughtBy: odd,
    breakIt: (node) => renamedNode(node, (name) => posix.normalize(name)),
  },
  {
    fault: "treats backslashes as slashes",
    caughtBy: odd,
    breakIt: (node) => renamedNode(node, (name) => name.replaceAll("\\", "/")),
  },
  {
    fault: "ignores a slash at the end of a name",
    caughtBy: odd,
    breakIt: (node) => renamedNode(node, (name) => name.replace(/(.)\/$/, "$1")),
  },
  {
    fault: "decodes percent escapes",
    caughtBy: odd,
    breakIt: (node) => renamedNode(node, decoded),
  },
  {
    fault: "treats plus signs as spaces",
    caughtBy: odd,
    breakIt: (node) => renamedNode(node, (name) => name.replaceAll("+", " ")),
  },
  {
    fault: "ends names at a question mark or a number sign, as URLs do",
    caughtBy: odd,
    breakIt: (node) => renamedNode(node, (name) => name.replace(/(.)[?#].*/s, "$1")),
  },
  {
    fault: "cuts names at 1 024 characters",
    caughtBy: "names of 5000 characters that differ only in the last are two resources",
    breakIt: (node) => renamedNode(node, (name) => name.slice(0, 1_024)),
  },
  {
    fault: "cuts names at 4 095 bytes",
    caughtBy: "names of 5000 characters that differ only in the last are two resources",
    breakIt: (node) => renamedNode(node, (name) => Buffer.from(name).subarray(0, 4_095).toString("latin1")),
  },
  {
    fault: "keeps names as UTF-8, in which all lone surrogates are the same",
    caughtBy: "names that are not well-formed Unicode are rejected, or are separate resources",
    breakIt: (node) => renamedNode(node, (name) => name.replaceAll(/\p{Surrogate}/gu, "\ufffd")),
  },
];
