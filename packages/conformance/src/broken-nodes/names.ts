import { posix } from "node:path";
import { renamedNode } from "../world/renamed-node.ts";
import { type BrokenNode, broken } from "./broken-node.ts";

/** Returns a name as a server decodes it from a URL. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Faults in names: two resources become one. */
export const brokenNames: readonly BrokenNode[] = broken({
  "each of many unusual names is a separate resource": {
    "folds the case of names": (node) => renamedNode(node, (name) => name.toLowerCase()),
    "trims names": (node) => renamedNode(node, (name) => name.trim() || "nothing"),
    "keeps only the part of a name between braces": (node) =>
      renamedNode(node, (name) => /\{([^}]+)\}/.exec(name)?.[1] ?? name),
    "cuts names at 255 characters": (node) => renamedNode(node, (name) => name.slice(0, 255)),
    "ends names at a NUL character": (node) => renamedNode(node, (name) => name.split("\0")[0] || "nothing"),
    "treats canonically equivalent names as the same name": (node) =>
      renamedNode(node, (name) => name.normalize("NFC")),
    "treats names as paths": (node) => renamedNode(node, (name) => posix.normalize(name)),
    "treats backslashes as slashes": (node) => renamedNode(node, (name) => name.replaceAll("\\", "/")),
    "ignores a slash at the end of a name": (node) => renamedNode(node, (name) => name.replace(/(.)\/$/, "$1")),
    "decodes percent escapes": (node) => renamedNode(node, decoded),
    "treats plus signs as spaces": (node) => renamedNode(node, (name) => name.replaceAll("+", " ")),
    "ends names at a question mark or a number sign, as URLs do": (node) =>
      renamedNode(node, (name) => name.replace(/(.)[?#].*/s, "$1")),
  },
  "names of 5000 characters that differ only in the last are two resources": {
    "cuts names at 1 024 characters": (node) => renamedNode(node, (name) => name.slice(0, 1_024)),
    "cuts names at 4 095 bytes": (node) =>
      renamedNode(node, (name) => Buffer.from(name).subarray(0, 4_095).toString("latin1")),
  },
  "names that are not well-formed Unicode are rejected, or are separate resources": {
    "keeps names as UTF-8, in which all lone surrogates are the same": (node) =>
      renamedNode(node, (name) => name.replaceAll(/\p{Surrogate}/gu, "\ufffd")),
  },
});
