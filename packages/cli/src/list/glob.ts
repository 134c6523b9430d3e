/** Globs in the syntax of Redis, for servers that do not match them themselves. */

/**
 * Returns an expression that matches the same texts as a glob: `*`, `?`, `[abc]`, `[a-z]`, `[^a]`, and a backslash before
 * a character that stands for itself.
 */
export function globExpression(glob: string): RegExp {
  const parts = glob.matchAll(/\\(.)|\[(\^?)((?:\\.|[^\]\\])*)\]?|[\s\S]/gu);
  const source = [...parts].map(([all, escaped, not, members]) => {
    if (all === "*") return "[\\s\\S]*";
    if (all === "?") return "[\\s\\S]";
    if (members !== undefined) return classOf(members, not === "^");
    return literal(escaped ?? all);
  });
  return new RegExp(`^${source.join("")}$`, "u");
}

function classOf(members: string, isNegated: boolean): string {
  const ranges = [...members.matchAll(/(?:\\(.)|([^\\]))(?:-(?:\\(.)|([^\\])))?/gu)];
  const inside = ranges.map(([, escaped, plain, escapedEnd, plainEnd]) => {
    const [from, to] = [escaped ?? plain ?? "", escapedEnd ?? plainEnd];
    return to === undefined ? literal(from) : [from, to].sort().map(literal).join("-");
  });
  return `[${isNegated ? "^" : ""}${inside.join("")}]`;
}

/** Escapes a character by its number, which is right inside and outside of brackets. */
function literal(text: string): string {
  return [...text].map((character) => `\\u{${character.codePointAt(0)?.toString(16)}}`).join("");
}
