import { posix } from "node:path";
import type { LockNode } from "@holdfast/core";
import { renamedNode } from "../world/renamed-node.ts";
import { type BrokenNode, broken, type Wrapper } from "./broken-node.ts";

/** Returns a name as a server decodes it from a URL. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function keepingAs(keptAs: (name: string) => string): Wrapper<LockNode> {
  return (node) => renamedNode(node, keptAs);
}

/** Faults in names: two resources become one. */
export const brokenNames: readonly BrokenNode[] = broken({
  "each of many unusual names is a separate resource": {
    "folds the case of names": keepingAs((name) => name.toLowerCase()),
    "trims names": keepingAs((name) => name.trim() || "nothing"),
    "keeps only the part of a name between braces": keepingAs((name) => /\{([^}]+)\}/.exec(name)?.[1] ?? name),
    "cuts names at 255 characters": keepingAs((name) => name.slice(0, 255)),
    "ends names at a NUL character": keepingAs((name) => name.split("\0")[0] || "nothing"),
    "treats canonically equivalent names as the same name": keepingAs((name) => name.normalize("NFC")),
    "treats names as paths": keepingAs((name) => posix.normalize(name)),
    "treats backslashes as slashes": keepingAs((name) => name.replaceAll("\\", "/")),
    "ignores a slash at the end of a name": keepingAs((name) => name.replace(/(.)\/$/, "$1")),
    "decodes percent escapes": keepingAs(decoded),
    "treats plus signs as spaces": keepingAs((name) => name.replaceAll("+", " ")),
    "ends names at a question mark or a number sign, as URLs do": keepingAs((name) => name.replace(/(.)[?#].*/s, "$1")),
  },
  "names of 5000 characters that differ only in the last are two resources": {
    "cuts names at 1 024 characters": keepingAs((name) => name.slice(0, 1_024)),
    "cuts names at 4 095 bytes": keepingAs((name) => Buffer.from(name).subarray(0, 4_095).toString("latin1")),
  },
  "names that are not well-formed Unicode are rejected, or are separate resources": {
    "keeps names as UTF-8, in which all lone surrogates are the same": keepingAs((name) =>
      name.replaceAll(/\p{Surrogate}/gu, "\ufffd"),
    ),
  },
});
